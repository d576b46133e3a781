"""Documents are right: links lead somewhere, named files exist, examples work."""

import ast
import io
import json
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.stack import ROOT

ROOMS = [page for page in ROOT.glob("snapshots/**/*.md") if "guides" not in page.parts]  # no tours
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOMS])
DOCS = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
CODE = [
    path
    for folder in ("snapshots", "tasks", "webapp", "bench", "tests", "static/js", "deploy")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".js", ".conf", ".env", ".service")
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MARK = re.compile(r" \[[A-Z]\]$")  # how far a section of a format note was verified
DOCUMENT = re.compile(r"[\w./*-]+\.md\b")
SECTION = re.compile(r'docs/([\w./-]+\.md),\s+((?:(?:,|and)?\s*"[^"]+"\s*)+)')
ROOMS = "snapshots|tasks|webapp|tests|bench|static|templates|docs"
NAMED_PATH = re.compile(rf"`((?:{ROOMS})/[\w./-]+)`")
ROW_OF_ROOMS = re.compile(r"^\| (`snapshots/.*?) \|", re.MULTILINE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Return the targets, inside the repository, of a page's links and pictures."""
    targets = [link or picture for link, picture in LINK.findall(without_code(page))]
    return [target for target in targets if "://" not in target]


def target_of(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


def headings(page: Path) -> list[str]:
    plain = without_code(page).replace("`", "").replace("**", "")
    return [MARK.sub("", heading) for heading in HEADING.findall(plain)]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings(page)]
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        target, anchor = target_of(page, link)
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            targets = [target_of(page, link)[0] for link in links(page)]
            waiting += [target for target in targets if target.suffix == ".md"]
    assert set(DOCS) - reached == set()


def test_every_picture_is_shown():
    images = ROOT / "docs" / "images"
    targets = {target_of(page, link)[0] for page in PAGES for link in links(page)}
    assert set(images.iterdir()) == {target for target in targets if target.parent == images}


@pytest.mark.parametrize("page", DOCS, ids=name)
def test_a_page_begins_with_what_it_answers(page):
    title, blank, *rest = page.read_text().splitlines()
    assert title.startswith("# ")
    assert blank == ""
    first = " ".join(rest[: rest.index("")])
    assert re.match(r"(How|What|Where|Which|Why) .*[.:]", first), first


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_a_page_names_exists(page):
    for path in NAMED_PATH.findall(without_code(page)):
        assert (ROOT / path).exists(), path


@cache
def comments() -> tuple[tuple[str, str], ...]:
    """Yield what the code says about documents: (file, docstring or comment, or a text not in
    Python)."""
    texts = {path: path.read_text() for path in CODE}
    return tuple(
        (name(path), comment)
        for path, text in texts.items()
        if ".md" in text
        for comment in (python_comments(text) if path.suffix == ".py" else [text])
    )


def python_comments(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_every_document_that_the_code_names_exists():
    named = [(path, found) for path, text in comments() for found in DOCUMENT.findall(text)]
    assert len(named) >= 20
    assert [each for each in named if not any(ROOT.glob(each[1]))] == []


def test_every_section_that_the_code_names_exists():
    named = [found for _, text in comments() for found in SECTION.findall(text)]
    assert len(named) >= 10
    for document, sections in named:
        for section in re.findall(r'"([^"]+)"', sections):
            assert " ".join(section.split()) in headings(ROOT / "docs" / document)


@pytest.mark.parametrize("page", ["README.md", "docs/formats/native.md"])
def test_the_log_that_a_page_shows_is_read_and_is_consistent(page, tmp_path):
    blocks = re.findall(r"```json\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    log = next(block for block in blocks if '"record_state"' in block)
    path = tmp_path / "transfer.jsonl"
    path.write_text("".join(line.strip() + "\n" for line in log.splitlines() if line.strip()))
    printed = io.StringIO()
    call_command("check_snapshots", path, json=True, stdout=printed)
    checked = json.loads(printed.getvalue())
    assert checked["defects"] == []
    assert [report["verdict"] for report in checked["snapshots"]] == ["consistent"]


def test_the_map_has_the_rooms_of_the_contract_in_its_order():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = ROW_OF_ROOMS.findall((ROOT / "docs" / "architecture.md").read_text())
    rooms = [re.findall(r"`snapshots/(\w+)`", row) for row in rows]
    assert rooms == [layer.split(" : ") for layer in layers]
