"""Every sentence about data in flight, mode, completeness and state, on every page of every case.

What a page says of these has to be what is expected of the case, and what is expected has to be
said: both ways. An engine takes part with a module like ``flink_sentences``. What only the API
answers about each time, these pages show in the long run (tests/each_time.py).
"""

from collections import Counter
from types import ModuleType

import pytest
from django.test import Client

from snapshots.archive import columns
from tests.each_time import by_pages
from tests.readers.engines.flink.engine import folder_of
from tests.web import flink_sentences
from tests.web.claims import said
from tests.web.given import a_client, signed_in, text_of
from tests.web.stored_uploads import parts_of, stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def the_archive_is_read_anew():
    """Drop what is kept of jobs, for those of another test may have the same keys."""
    columns.forget_all()


ENGINES: dict[str, ModuleType] = {"flink": flink_sentences}
"""The module of each engine, with NAMES, PARTS, READER, sentence and Sentences."""
CASES = [
    pytest.param(engine, *case.values, marks=case.marks)
    for engine, module in ENGINES.items()
    for case in by_pages(engine, module.NAMES)
]


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_every_page_says_what_is_expected_and_nothing_else(
    ada, shared_data, tmp_path, engine, name
):
    module, folder = ENGINES[engine], folder_of(shared_data, name)
    upload = parts_of(folder, module.PARTS, tmp_path / "upload")
    recording = stored_upload(ada, module.READER(), upload)
    address = f"/recordings/{recording.pk}"
    listed = a_client(ada).get(f"/api{address}/contents").json()["checkpoints"]
    sentences, client = module.Sentences(folder, listed), signed_in(ada)
    different = {}
    for path, expected in sentences.pages():
        different |= _differences(module, client, f"{address}{path}", expected)
    for job in recording.engine_jobs.all():
        for number, expected in sentences.archived(job.key):
            path = f"/archive/{job.pk}/checkpoints/0/{number}"
            different |= _differences(module, client, path, expected)
    lines = [f"{path}: {line}" for path, own in different.items() for line in own]
    assert not lines, "\n".join(lines)


def _differences(
    module: ModuleType, client: Client, address: str, expected: list[str]
) -> dict[str, list[str]]:
    """Return what a page says and should not, and what it should and does not, by its address."""
    html = text_of(client.get(address))
    found = Counter(filter(None, map(module.sentence, said(html))))
    wanted = Counter(expected)
    lines = [f"says {line!r}" for line in (found - wanted)]
    lines += [f"lacks {line!r}" for line in (wanted - found)]
    return {address: lines} if lines else {}
