"""The page ``/api/docs``: the OpenAPI document as a page of ours, without a script."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase
from ninja.responses import NinjaJSONEncoder

Json = Mapping[str, Any]

_SIMPLE = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "object",
}
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} items",
}
_LARGEST = 2**53  # beyond it lies a limit of the database, not one of the call
_CODE = re.compile(r"``(.+?)``|`(.+?)`")
_TAKES_GZIP = re.compile(r"\bgzip\b")
_STRANGE = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body or an answer.

    Attributes:
        name: its name.
        kind: its type in words, with links to shapes.
        notes: bounds, default and whether it is required.
        text: what it means.
    """

    name: str
    kind: str
    notes: tuple[str, ...]
    text: SafeString


@dataclass(frozen=True, slots=True)
class Shape:
    """An object of an answer or a body that has a name.

    Attributes:
        name: its name, which is also its anchor.
        text: what it means; empty if nothing is said.
        fields: its fields.
    """

    name: str
    text: SafeString
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A method and a path of the API.

    Attributes:
        method: the method, in capitals.
        path: the path, with its parameters in braces.
        anchor: the id of its place on the page.
        summary: the first sentence of the description.
        more: the further paragraphs of the description.
        parameters: groups of parameters by where they stand.
        body_kind: the media type of the body; empty if there is none.
        body: the fields of the body.
        answers: each status with the type of its content, if the call is not refused.
        refusals: the statuses with which it may be refused.
        example: a command that makes the call.
    """

    method: str
    path: str
    anchor: str
    summary: SafeString
    more: tuple[SafeString, ...]
    parameters: tuple[tuple[str, tuple[Field, ...]], ...]
    body_kind: str
    body: tuple[Field, ...]
    answers: tuple[tuple[str, str], ...]
    refusals: tuple[str, ...]
    example: str


class Reference(DocsBase):
    """Renders the API's document as a page of Cutline."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        return render(request, "snapshots/api/reference.html", {"content": _content(api)})


@require_safe
def openapi_document(request: HttpRequest, api: NinjaAPI) -> HttpResponse:
    """Return the OpenAPI document. It is the same for everybody, so it is packed once, too."""
    plain, packed = _document(api)
    is_packed = _TAKES_GZIP.search(request.headers.get("Accept-Encoding", "")) is not None
    response = HttpResponse(packed if is_packed else plain, content_type="application/json")
    response["Vary"] = "Accept-Encoding"
    if is_packed:
        response["Content-Encoding"] = "gzip"
    return response


@cache
def _document(api: NinjaAPI) -> tuple[bytes, bytes]:
    root = reverse(f"{api.urls_namespace}:api-root")
    plain = json.dumps(api.get_openapi_schema(path_prefix=root), cls=NinjaJSONEncoder).encode()
    return plain, gzip.compress(plain)


@cache
def _content(api: NinjaAPI) -> SafeString:
    """Return the part of the page that is the same for everybody."""
    document = json.loads(_document(api)[0])
    context = {
        "document": reverse(f"{api.urls_namespace}:openapi-json"),
        "paragraphs": paragraphs(api.description),
        "groups": groups(document),
        "shapes": tuple(shapes(document)),
    }
    return render_to_string("snapshots/api/contents.html", context)


def groups(document: Json) -> tuple[tuple[str, tuple[Call, ...]], ...]:
    """Return the calls of each tag, in the order of the document."""
    by_tag: dict[str, list[Call]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            by_tag.setdefault(call["tags"][0], []).append(_call(document, path, method, call))
    return tuple((tag, tuple(calls)) for tag, calls in by_tag.items())


def shapes(document: Json) -> Iterator[Shape]:
    """Yield every named object, sorted by name."""
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield Shape(name, prose(schema.get("description", "")), _fields(schema))


def _call(document: Json, path: str, method: str, call: Json) -> Call:
    summary, *more = paragraphs(call["description"])
    body_kind, body = _body(document, call)
    return Call(
        method=method.upper(),
        path=path,
        anchor=_STRANGE.sub("-", f"{method}-{path}").strip("-"),
        summary=summary,
        more=tuple(more),
        parameters=tuple(_parameters(call)),
        body_kind=body_kind,
        body=_fields(body),
        answers=tuple(_answers(call)),
        refusals=tuple(
            status for status in call["responses"] if status >= "4" and status.isdigit()
        ),
        example=_example(path, method, call, body_kind, body),
    )


def _parameters(call: Json) -> Iterator[tuple[str, tuple[Field, ...]]]:
    for where, title in (("path", "In the path"), ("query", "Query"), ("header", "Headers")):
        fields = tuple(
            _field(each["name"], each["schema"] | {"description": each["description"]}, required)
            for each in call.get("parameters", [])
            if each["in"] == where
            for required in [each.get("required", False) and where != "path"]
        )
        if fields:
            yield title, fields


def _body(document: Json, call: Json) -> tuple[str, Json]:
    """Return the media type and the schema of a call's body; both are empty if it has none."""
    for kind, content in call.get("requestBody", {}).get("content", {}).items():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        return kind, document["components"]["schemas"][name] if name else content["schema"]
    return "", {}


def _answers(call: Json) -> Iterator[tuple[str, str]]:
    for status, answer in call["responses"].items():
        if status < "4":
            content = answer.get("content", {}).get("application/json")
            yield status, kind_of(content["schema"]) if content else "nothing"


def _fields(schema: Json) -> tuple[Field, ...]:
    required = schema.get("required", [])
    fields = schema.get("properties", {}).items()
    return tuple(_field(name, field, name in required) for name, field in fields)


def _field(name: str, schema: Json, required: bool) -> Field:
    notes = ["required"] if required else []
    notes += [
        words.format(f"{schema[key]:,}")
        for key, words in _BOUNDS.items()
        if key in schema and abs(schema[key]) < _LARGEST
    ]
    if schema.get("default") not in (None, "", [], {}):
        notes.append(f"by default {_json(schema['default'])}")
    if schema.get("examples"):
        notes.append(f"for example {_json(schema['examples'][0])}")
    if schema.get("unit"):
        notes.append(f"unit: {schema['unit']}")
    return Field(name, kind_of(schema), tuple(notes), prose(schema.get("description", "")))


def kind_of(schema: Json) -> str:
    """Return the type of a value in words, in which names of shapes are links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return format_html('<a href="#{}">{}</a>', name, name)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema and "enum" not in schema:
            return format_html_join(" or ", "{}", [[kind_of(each)] for each in schema[several]])
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return format_html_join(", ", "<code>{}</code>", [[_json(value)] for value in values])
    if schema.get("type") == "array":
        return format_html("list of {}", kind_of(schema.get("items", {})))
    if isinstance(schema.get("additionalProperties"), dict):
        return format_html("object of {}", kind_of(schema["additionalProperties"]))
    if schema.get("format") == "binary":
        return "file"
    return _SIMPLE.get(schema.get("type", ""), "any JSON value")


def _example(path: str, method: str, call: Json, body_kind: str, body: Json) -> str:
    for each in call.get("parameters", []):
        if each["in"] == "path":
            value = "12" if each["schema"].get("type") == "integer" else "s1"
            path = path.replace(f"{{{each['name']}}}", value)
    words = ["curl", '-H "Authorization: Bearer $TOKEN"']
    if method != "get" and not (method == "post" and body_kind):
        words.append(f"-X {method.upper()}")
    if body_kind == "application/json":
        words += ['-H "Content-Type: application/json"', f"-d {_json_example(body)}"]
    elif body_kind:
        fields = body.get("properties", {})
        required = [name for name in fields if name in body.get("required", ["file"])]
        words += [f"-F {name}={'@FILE' if name == 'file' else 'TEXT'}" for name in required]
    return " ".join([*words, f"$SERVER{path}"])


def _json_example(body: Json) -> str:
    """Return the examples of the fields as a word of the shell; without examples, a file."""
    fields = body.get("properties", {}).items()
    values = {name: field["examples"][0] for name, field in fields if field.get("examples")}
    return f"'{_json(values)}'" if values else "@body.json"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def paragraphs(text: str) -> tuple[SafeString, ...]:
    return tuple(prose(part) for part in text.split("\n\n") if part.strip())


def prose(text: str) -> SafeString:
    """Return a text as HTML, in which what stands between backticks is code."""
    return mark_safe(_CODE.sub(r"<code>\1\2</code>", str(escape(text))))
