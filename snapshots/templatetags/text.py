"""The filter for texts that people write in Markdown."""

from django import template
from django.utils.safestring import SafeString

from webapp.markdown import to_html, to_html_in_file

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Return the HTML of a text in Markdown: ``{{ entry.text|markdown }}``."""
    return to_html(text)


@register.filter
def markdown_in_file(text: str) -> SafeString:
    """Return the HTML of a text in Markdown for a file that leaves the server."""
    return to_html_in_file(text)
