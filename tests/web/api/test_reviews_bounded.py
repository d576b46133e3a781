"""Notes cost a bounded effort to read, and requests at the same time lose nothing."""

import pytest

from snapshots.domain.comparing.aligning import MOST_EDITS, Effort
from snapshots.reviews import history
from tests.web.given import a_ready_recording
from tests.web.api.test_reviews import listed, patched, posted

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

HARD = (".," * 10_000, ",." * 5_000 + ".," * 5_000)


def test_texts_that_are_hard_to_compare_take_a_bounded_effort():
    effort = Effort(history.MOST_STEPS)
    parts = history.changes(*HARD, effort)
    assert effort.steps > -(MOST_EDITS**2), "the search stops soon after its steps are used up"
    for text, change in zip(HARD, ("removed", "added"), strict=True):
        assert "".join(part["text"] for part in parts if part["change"] in ("same", change)) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [("a b c", "c b a"), ("", "a"), ("a b", "a b"), ("x y", "1 2"), ("a a b", "a b b a")],
)
def test_the_parts_of_a_change_make_up_both_texts(before, after):
    parts = history.changes(before, after, Effort())
    for text, change in ((before, "removed"), (after, "added")):
        assert "".join(part["text"] for part in parts if part["change"] in ("same", change)) == text


def test_the_history_has_pages(api, ada):
    row = a_ready_recording(ada)
    entry = posted(api, f"recordings/{row.pk}/entries", text="0")
    for number in range(1, 5):
        patched(api, f"entries/{entry['id']}", text=str(number))
    address = f"entries/{entry['id']}/history"
    assert [item["text"] for item in listed(api, f"{address}?limit=2&offset=1")] == ["3", "2"]
    [last] = listed(api, f"{address}?limit=2&offset=4")
    assert last["changes"] == [{"change": "added", "text": "0"}]
    [second] = listed(api, f"{address}?limit=1&offset=3")
    assert [part["change"] for part in second["changes"]] == ["removed", "added"]
    assert api.get(f"/api/{address}").json()["total"] == 5
    assert api.get(f"/api/{address}?limit=51").status_code == 422
