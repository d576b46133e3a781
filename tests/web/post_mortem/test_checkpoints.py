"""A document says of the tasks of a checkpoint what the page of the checkpoint says."""

import io
import re
import zipfile
from html import unescape
from xml.etree import ElementTree

import pytest

from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.reviews import entries
from snapshots.web.post_mortem import bars
from snapshots.web.post_mortem.document import of_notes
from tests.web.post_mortem.test_documents import data_of
from tests.web.stored_uploads import parts_of, stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

SINK, SOURCE = "slow-sink[0]", "Source: rules[0]"


@pytest.fixture
def failures(ada, shared_data, tmp_path):
    folder = parts_of(shared_data / "flink" / "failures", ["rest"], tmp_path / "upload")
    return stored_upload(ada, FlinkReader(), folder)


@pytest.fixture
def archived(failures):
    return failures.engine_jobs.get()


def noted(ada, subject, place):
    entries.write(ada, subject, {"text": "look", "place": place})


def shown_on(page, label):
    """Return what the table of tasks on a page has under a label, by the name of the task."""
    rows = re.findall(r'<th scope="row" class="name">(.*?)</tr>', page, re.DOTALL)
    cells = {}
    for row in rows:
        words = re.search(rf'data-label="{label}">(.*?)</td>', row, re.DOTALL)
        name = re.split(r"</th>|<span", row)[0]
        cells[unescape(name).strip()] = " ".join(re.sub("<[^>]+>", " ", words[1]).split())
    return cells


def table_in(ada, subject, column):
    """Return a column of the table of tasks in the document of notes, by the name of the task."""
    [figure] = [figure for row in of_notes(ada, subject).rows for figure in row.figures]
    [table] = figure.tables
    place = table.head.index(column)
    return {row[0]: row[place] for row in table.rows}


def test_the_alignment_of_a_source_is_the_same_word_on_the_page_and_in_the_document(
    client, ada, failures
):
    noted(ada, failures, "checkpoint:4:0")
    page = client.get(f"/recordings/{failures.pk}/checkpoints?checkpoint=4").content.decode()
    shown = shown_on(page, "Alignment")
    assert table_in(ada, failures, "alignment") == shown
    assert (shown[SOURCE], shown["apply-rules[0]"]) == ("none", "72 ms")


def test_the_alignment_of_a_task_that_did_not_answer_is_not_known(client, ada, failures):
    noted(ada, failures, "checkpoint:14:0")
    page = client.get(f"/recordings/{failures.pk}/checkpoints?checkpoint=14").content.decode()
    shown = shown_on(page, "Alignment")
    assert table_in(ada, failures, "alignment") == shown
    assert shown[SINK] == "not known"


def test_who_acknowledged_is_the_same_word_on_the_page_and_in_the_document(client, ada, archived):
    noted(ada, archived, "checkpoint:14:0")
    page = client.get(f"/archive/{archived.pk}/checkpoints/0/14").content.decode()
    shown = shown_on(page, "Acknowledged")
    assert table_in(ada, archived, "acknowledged") == shown
    assert (shown[SINK], shown["apply-rules[0]"], shown[SOURCE]) == ("no", "too late", "yes")


def test_the_times_of_a_task_that_a_note_names_are_claimed(client, ada, archived, checker):
    noted(ada, archived, "subtask:14:0:apply-rules%5B0%5D")
    html = client.get(f"/archive/{archived.pk}/notes/document").content.decode()
    data = data_of(html)
    [claim] = data["claims"]
    assert list(claim["says"]["of_tasks"]) == ["apply-rules[0]"]
    assert claim["says"]["of_tasks"]["apply-rules[0]"]["alignment"] == 198
    assert [answer["outcome"] for answer in checker.checked(data)] == ["holds"]


def bars_in(client, address):
    """Return the Markdown of a document and its only figure."""
    packed = zipfile.ZipFile(io.BytesIO(client.get(f"{address}?format=markdown").content))
    text = packed.read("post-mortem.md").decode()
    [name] = [name for name in packed.namelist() if name.endswith(".svg")]
    assert f"({name})" in text
    return ElementTree.fromstring(packed.read(name))


def test_markdown_has_the_bars_of_a_checkpoint(client, ada, failures):
    noted(ada, failures, "checkpoint:14:0")
    drawn = bars_in(client, f"/recordings/{failures.pk}/notes/document")
    words = [element.text for element in drawn.iter() if element.tag.endswith("}text")]
    assert f"{SINK} (times not known)" in words
    assert SOURCE in words, "a source has no alignment, which is not one that is not known"
    titles = {element.text: element for element in drawn.iter() if element.tag.endswith("}title")}
    assert "apply-rules[0], alignment: 198 ms" in titles
    assert f"{SOURCE}, start delay: 5 ms" in titles
    widths = [float(bar.get("width")) for bar in drawn if bar.find("{*}title") is not None]
    assert len(widths) > 10
    assert "The longest bar is" in words[-1]
    shortened = [word for word in words if word.startswith("Source: orders")]
    assert len(set(shortened)) == 2, "the subtasks of one vertex are told apart"


def test_bars_that_are_not_drawn_are_counted(client, ada, archived, monkeypatch):
    monkeypatch.setattr(bars, "MOST_BARS", 3)
    noted(ada, archived, "checkpoint:4:0")
    drawn = bars_in(client, f"/archive/{archived.pk}/notes/document")
    words = [element.text for element in drawn.iter() if element.tag.endswith("}text")]
    assert words[-1].endswith("7 more tasks not shown")
    assert any(word.startswith("slow-sink[0]") for word in words), "the slowest comes first"


def test_the_names_of_tasks_stay_text_in_the_bars():
    task = dict.fromkeys(("start_delay", "alignment", "sync", "async"), 2**60)
    task |= {"name": "</text><script>alert(1)</script>", "takes_barriers": True}
    drawn = ElementTree.fromstring(bars.bars_svg({"tasks": [task], "time_unit": "ms"}))
    tags = {element.tag.partition("}")[2] for element in drawn.iter()}
    assert tags == {"svg", "rect", "text", "title"}


def test_a_checkpoint_without_tasks_says_so():
    assert "No times of single tasks are known" in bars.bars_svg({"tasks": [], "time_unit": "ms"})
