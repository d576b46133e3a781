"""Turn the texts of entries into HTML: the only place that does so."""

from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe


def html_of(text: str) -> SafeString:
    """Return a text as paragraphs, in which every character stands for itself."""
    return mark_safe(linebreaks(text, autoescape=True))
