"""The OpenAPI document describes every call and every parameter."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from ninja.openapi.schema import OpenAPISchema

from snapshots.web.api import api, replies
from tests.stack import ROOT

SCHEMA = api.get_openapi_schema(path_prefix="/api/")
CALLS = {
    f"{method.upper()} {path}": call
    for path, calls in SCHEMA["paths"].items()
    for method, call in calls.items()
}
ADDRESS = re.compile(r"`?(?:GET |POST |PATCH |PUT |DELETE )?(/api/[\w/{}.-]+)`")


def test_the_document_is_made_once():
    assert api.get_openapi_schema() is SCHEMA


def test_every_object_has_a_name_of_its_own():
    """The document keeps the last of two objects with one name, and describes the other wrongly."""
    shapes = defaultdict(list)

    class Collecting(OpenAPISchema):
        def add_schema_definitions(self, definitions: dict) -> None:
            for name, shape in definitions.items():
                if shape not in shapes[name]:
                    shapes[name].append(shape)
            super().add_schema_definitions(definitions)

    assert replies.describe(Collecting(api, "/api/")) == SCHEMA
    assert set(SCHEMA["components"]["schemas"]) - {"Problem"} <= set(shapes)
    assert [name for name in shapes if len(shapes[name]) > 1] == []


def is_a_sentence(text: str) -> bool:
    """Return whether ``text`` begins and ends like a sentence."""
    return bool(re.match(r"[A-Z`]", text)) and text.rstrip().endswith((".", ":"))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_has_a_summary_and_a_description(call):
    assert len(CALLS[call]["summary"].split()) >= 2
    first = CALLS[call].get("description", "").split("\n\n")[0]
    assert is_a_sentence(first), first


@pytest.mark.parametrize("call", CALLS)
def test_every_parameter_has_a_description(call):
    for parameter in CALLS[call].get("parameters", []):
        assert is_a_sentence(parameter.get("description", "")), parameter["name"]


@pytest.mark.parametrize("call", [call for call in CALLS if "requestBody" in CALLS[call]])
def test_every_field_of_a_body_has_a_description(call):
    for body in CALLS[call]["requestBody"]["content"].values():
        schema = resolved(body["schema"])
        for name, field in schema["properties"].items():
            assert is_a_sentence(resolved(field).get("description", "")), name


def test_every_field_of_every_schema_has_a_description():
    texts = {
        f"{name}.{field}": (resolved(shape) | shape).get("description", "")
        for name, schema in SCHEMA["components"]["schemas"].items()
        for field, shape in schema.get("properties", {}).items()
    }
    lacking = [
        f"{name}: {text!r}"
        for name, text in texts.items()
        if not is_a_sentence(text) and not text[:1].isdigit()
    ]
    assert not lacking, "\n".join([f"{len(lacking)} fields have no sentence:", *lacking])


def resolved(schema: dict) -> dict:
    name = schema.get("$ref", "").rpartition("/")[2]
    return SCHEMA["components"]["schemas"][name] if name else schema


def test_every_address_that_the_documents_name_is_a_call():
    pages = [ROOT / "docs" / page for page in ("api.md", "websocket.md", "architecture.md")]
    named = {address for page in pages for address in ADDRESS.findall(Path(page).read_text())}
    assert len(named) >= 4
    assert named - set(SCHEMA["paths"]) == {"/api/docs", "/api/openapi.json"}
