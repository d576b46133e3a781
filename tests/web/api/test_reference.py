"""The page of the API says all that the OpenAPI document says, and leads back to other pages."""

import gzip
import html
import json
import re
import shlex

import pytest
from django.test import Client

from snapshots.web.api import api, reference
from snapshots.web.api.reference import kind_of, prose
from tests.web.given import signed_in

pytestmark = pytest.mark.django_db
DOCUMENT = api.get_openapi_schema(path_prefix="/api/")


@pytest.fixture
def page(ada) -> str:
    return signed_in(ada).get("/api/docs").content.decode()


def words(page: str) -> str:
    """Return the text of a page."""
    page = page.replace("</p>", " </p>")
    return " ".join(html.unescape(re.sub("<[^>]+>", "", page)).split())


def test_it_has_every_call_with_its_parameters(page):
    text = words(page)
    for path, methods in DOCUMENT["paths"].items():
        for method, call in methods.items():
            assert f"{method.upper()} {path}" in text
            sentences = [call["description"], *[p["description"] for p in call["parameters"]]]
            for sentence in sentences:
                assert " ".join(sentence.replace("`", "").split()) in text


def test_it_has_every_field_of_every_object(page):
    text = words(page)
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert f'id="{name}"' in page
        for field, shape in schema.get("properties", {}).items():
            sentence = " ".join(shape.get("description", "").replace("`", "").split())
            assert sentence in text, f"{name}.{field}"


def test_every_link_within_the_page_leads_somewhere(page):
    anchors = re.findall(r' id="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)


def test_it_leads_to_the_document_and_back_to_the_pages(page):
    assert 'href="/api/openapi.json"' in page
    for address in ("/", "/jobs", "/account"):
        assert f'href="{address}"' in page


def test_it_is_read_without_signing_in():
    answer = Client().get("/api/docs")
    assert answer.status_code == 200
    assert b'href="/jobs"' not in answer.content


def test_every_example_is_a_command_with_an_address_of_the_api(page):
    examples = re.findall(r'<pre class="api-example"><code>(.*?)</code></pre>', page)
    calls = [(path, m) for path, methods in DOCUMENT["paths"].items() for m in methods]
    assert len(examples) == len(calls)
    for example in examples:
        command = shlex.split(html.unescape(example))
        assert command[0] == "curl"
        assert re.fullmatch(r"\$SERVER/api/[\w/.-]+", command[-1]), command
        assert "{" not in command[-1]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"$ref": "#/components/schemas/Cut"}, '<a href="#Cut">Cut</a>'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "whole number or null"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"enum": ["a", "<b>"]}, "<code>&quot;a&quot;</code>, <code>&quot;&lt;b&gt;&quot;</code>"),
        ({"type": "string", "format": "binary"}, "file"),
        ({}, "any JSON value"),
    ],
)
def test_a_type_is_said_in_words(schema, kind):
    assert kind_of(schema) == kind


def test_a_text_is_no_markup():
    assert prose("`a<b` <i> ``c``") == "<code>a&lt;b</code> &lt;i&gt; <code>c</code>"


def test_the_document_and_its_page_are_made_once(monkeypatch):
    stranger = Client()
    addresses = ("/api/openapi.json", "/api/docs")
    first = [stranger.get(address).content for address in addresses]
    packed = stranger.get("/api/openapi.json", headers={"Accept-Encoding": "br, gzip;q=1"})
    for name in ("json", "gzip", "render_to_string", "groups"):
        monkeypatch.delattr(reference, name)
    assert stranger.get("/api/openapi.json").content == first[0]
    assert b"Objects in bodies and answers" in stranger.get("/api/docs?again").content
    assert gzip.decompress(packed.content) == first[0]
    assert json.loads(first[0]) == json.loads(json.dumps(DOCUMENT))
