"""Texts go out compressed, without telling secrets by their size; downloads go out as they are."""

import gzip

import pytest

from snapshots.models import Recording
from tests.web.given import a_file, signed_in

pytestmark = pytest.mark.django_db
GZIP = {"Accept-Encoding": "gzip, br"}


@pytest.fixture
def client(ada):
    return signed_in(ada)


@pytest.mark.parametrize("address", ["/account", "/api/openapi.json", "/no"])
def test_pages_answers_and_refusals_are_compressed(client, address):
    plain, packed = client.get(address), client.get(address, headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert int(packed.headers["Content-Length"]) == len(packed.content)
    assert len(packed.content) < len(gzip.decompress(packed.content)) / 2


def test_the_size_of_a_compressed_page_varies(client):
    """An attacker who counts bytes cannot tell whether a guess repeats a secret of the page."""
    sizes = {len(client.get("/api/docs", headers=GZIP).content) for _ in range(20)}
    assert len(sizes) > 5


def test_a_download_goes_out_as_it_is(client, ada, data_dir):
    content = a_file().read()
    client.post("/", {"file": a_file(content, "mine.jsonl")})
    row = Recording.objects.get(owner=ada)
    answer = client.get(f"/recordings/{row.pk}/original", headers=GZIP)
    assert "Content-Encoding" not in answer.headers
    assert b"".join(answer.streaming_content) == content
