"""The tag that offers a table of a page as files."""

from typing import Any, cast

from django import template

from snapshots.web.tables.sending import PARAMETERS, tables_of
from snapshots.web.tables.writing import FORMATS

register = template.Library()


@register.inclusion_tag("snapshots/parts/downloads.html", takes_context=True)
def downloads(context: template.Context, name: str) -> dict[str, Any]:
    """Offer a table of the page whole: ``{% downloads "snapshots" %}``.

    Nothing is offered below the answer to a form, which no address leads to.
    """
    request = context["request"]
    table = next((item for item in tables_of(request) if item.name == name), None)
    if table is None or request.method not in ("GET", "HEAD"):
        return {}
    query = request.GET.copy()
    for parameter in PARAMETERS:
        query.pop(parameter, None)
    query["table"] = name
    values = cast("dict[str, Any]", context.flatten())
    links = []
    for format in FORMATS:
        query["format"] = format
        links.append((FORMATS[format].title, f"{request.path}?{query.urlencode()}"))
    return {"title": table.title, "links": links, "left_out": table.left_out(values)}
