"""The tag with which a page loads all its JavaScript modules at once.

Without it the browser loads one level of imports after the other.
"""

import re
from functools import lru_cache
from pathlib import Path
from posixpath import dirname, join, normpath

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

PLOTLY = "plotly/plotly.min.js"
LOADER = "js/lib/plotly.js"  # the module that loads Plotly, a classic script

_IMPORT = re.compile(r'(?:\bfrom|^import) "(\.[^"]+)"', re.MULTILINE)


@register.simple_tag
def modulepreload(entry: str) -> SafeString:
    """Write a ``modulepreload`` link for a module and for each module that it imports.

    ``entry`` is the path of the module below ``static``, as in ``{% static %}``. If one of them
    draws with Plotly, the browser fetches that beside them.
    """
    modules = modules_of(entry)
    links = ((static(path),) for path in modules)
    tags = format_html_join("\n", '<link rel="modulepreload" href="{}">', links)
    if LOADER not in modules:
        return tags
    return tags + format_html('\n<link rel="preload" as="script" href="{}">', static(PLOTLY))


@lru_cache
def modules_of(entry: str) -> tuple[str, ...]:
    """Return the paths of a module and of all modules that it imports, sorted.

    The answer is kept: modules do not change while the server runs. A list that is old while
    somebody works on them costs only time.
    """
    paths, open_paths = set(), [entry]
    while open_paths:
        path = open_paths.pop()
        if path not in paths:
            paths.add(path)
            open_paths += (normpath(join(dirname(path), name)) for name in _imports(path))
    return tuple(sorted(paths))


def _imports(path: str) -> list[str]:
    file = finders.find(path)
    if file is None:
        raise template.TemplateSyntaxError(f"There is no static file {path}.")
    return _IMPORT.findall(Path(file).read_text(encoding="utf-8"))
