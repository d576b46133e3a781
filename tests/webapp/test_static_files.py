"""Static files are compressed, and kept for a year under addresses that carry a hash."""

import gzip
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

import brotli
import plotly
import pytest
from django.templatetags.static import static
from django.test import Client

from snapshots.templatetags.modules import modules_of
from tests.stack import ROOT
from webapp.edge.static_files import catalogue

ENTRY = "js/views/workbench/index.js"
HINT = b"//# allFunctionsCalledOnLoad\n"
IMPORT = re.compile(r'(?:\bfrom|^import) "(\.[^"]+)"', re.MULTILINE)


def ask(path: str, encoding: str = "", **headers):
    return Client().get(path, headers={"Accept-Encoding": encoding, **headers})


def test_every_file_that_a_page_names_is_kept_for_a_year():
    page = Client().get("/sign-in").content.decode()
    addresses = re.findall(r'"(/static/[^"]+)"', page)
    assert len(addresses) >= 6
    for address in addresses:
        answer = ask(address)
        assert answer.status_code == 200, address
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable", address


def test_modules_import_modules_of_the_same_version():
    for path in modules_of(ENTRY):
        for name in IMPORT.findall(ask(static(path)).content.decode()):
            answer = ask(urljoin(static(path), name))
            assert "immutable" in answer.headers["Cache-Control"], (path, name)


@pytest.mark.parametrize(
    ("accepted", "encoding", "unpacked"),
    [
        ("gzip, deflate, br, zstd", "br", brotli.decompress),
        ("gzip, deflate", "gzip", gzip.decompress),
        ("br;q=0, gzip;q=0.5", "gzip", gzip.decompress),
        ("identity", None, bytes),
        ("", None, bytes),
    ],
)
def test_a_file_is_sent_in_the_smallest_encoding_that_is_taken(accepted, encoding, unpacked):
    plain = ask(static(ENTRY)).content
    answer = ask(static(ENTRY), accepted)
    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    assert unpacked(answer.content) == plain
    assert encoding is None or len(answer.content) < len(plain) / 2


def test_modules_are_sent_without_their_doc_comments():
    paths = [path for path in catalogue().files if path.startswith("js/") and path.endswith(".js")]
    removed = 0
    for path in paths:
        source = Counter((ROOT / "static" / path).read_text().splitlines())
        sent = Counter(ask(static(path)).content.decode().splitlines())
        assert not sent - source, path
        assert all(re.match(r"\s*(/\*\*|\*)", line) for line in source - sent), path
        removed += (source - sent).total()
    assert removed > 1000


def test_a_known_file_is_not_sent_again():
    tag = ask(static(ENTRY), "br").headers["ETag"]
    again = ask(static(ENTRY), "br", **{"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert ask(static(ENTRY), "gzip", **{"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("version", ["", "0123456789ab/"])
def test_pages_of_another_release_get_the_present_file(version):
    answer = ask(f"/static/{version}{ENTRY}")
    assert answer.content == ask(static(ENTRY)).content
    assert answer.headers["Cache-Control"] == "public, no-cache"


@pytest.mark.parametrize(
    "path", ["js/no.js", "0123456789ab/no.js", "../manage.py", "%2e%2e/manage.py", "js", "js/", ""]
)
def test_nothing_else_is_served(path):
    assert ask(f"/static/{path}").status_code == 404


def test_a_file_cannot_be_changed():
    answer = Client().post(static(ENTRY))
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_template_cannot_name_a_file_that_does_not_exist():
    with pytest.raises(ValueError, match="There is no static file js/no.js"):
        static("js/no.js")


def test_a_changed_file_changes_the_addresses_of_its_folder_only(tmp_path, settings):
    for folder in ("js", "css"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text("1")
    settings.STATICFILES_DIRS = [tmp_path]
    catalogue.cache_clear()
    try:
        js, css = static("js/a"), static("css/a")
        (tmp_path / "js" / "a").write_text("2")
        catalogue.cache_clear()
        assert static("js/a") != js
        assert static("css/a") == css
    finally:
        catalogue.cache_clear()


def test_who_works_on_a_file_sees_it_at_once(tmp_path, settings):
    settings.STATICFILES_DIRS, settings.DEBUG = [tmp_path], True
    for text in (b"1", b"2"):
        (tmp_path / "a.js").write_bytes(text)
        assert static("a.js") == "/static/a.js"
        assert ask(static("a.js")).content == text


@pytest.mark.parametrize("debug", [False, True])
def test_plotly_begins_with_the_hint_that_compiles_it_beside_the_page(settings, debug):
    settings.DEBUG = debug
    installed = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    assert ask(static("plotly/plotly.min.js")).content == HINT + installed.read_bytes()
    assert not ask(static(ENTRY)).content.startswith(HINT)
