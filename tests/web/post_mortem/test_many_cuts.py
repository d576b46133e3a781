"""A document counts a bounded number of cuts, and says which it leaves out."""

import pytest

from snapshots.reviews import proving
from tests.web.given import a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_cuts_beyond_the_most_are_left_out_with_the_reason(ada, monkeypatch):
    monkeypatch.setattr(proving, "MOST_CUTS", 2)
    row, proof = a_ready_recording(ada), proving.Proof()
    made = [proof.cite(row, text)[-1] for text in ("moment:time:1000", "moment:time:2000")]
    assert not [claim["why_not"] for claim in made if "why_not" in claim]
    later = proof.cite(row, "moment:time:3000")[-1]
    assert "the first 2 moments and cuts" in later["why_not"]
    assert not later["says"]
    assert proof.cite(row, "moment:time:1000")[-1] is made[0]
    assert "why_not" not in proof.cite(row, "event:B:1")[-1]
