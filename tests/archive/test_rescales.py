"""The rescales of a Flink job are kept, longer than Flink remembers them."""

import pytest

from snapshots.archive import collecting, columns, rescales
from snapshots.models import EngineJob
from tests.archive.flink_server import RecordedFlink, Server
from tests.web.given import a_client, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BEGAN = 1_795_000_000_000  # epoch ms


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


class ScalingFlink(RecordedFlink):
    """A Flink 2.3 with the adaptive scheduler, which remembers the last two rescales."""

    def __init__(self, rest) -> None:
        super().__init__(rest)
        self.job = self.job | {"schedulerType": "Adaptive"}
        self.rescales: list[dict] = []
        self.broken: object = None
        self.forgotten: set[str] = set()  # between the answers to two requests

    def rescale(self, before: int, after: int | None) -> None:
        number = len(self.rescales) + 1
        at = BEGAN + number * 60_000
        self.rescales.append(
            {
                "rescaleUuid": f"00000000-0000-0000-0000-{number:012}",
                "rescaleAttemptId": number,
                "vertices": {
                    "a" * 32: {
                        "jobVertexName": "<map>",
                        "preRescaleParallelism": before,
                        "postRescaleParallelism": after,
                        "desiredParallelism": 4,
                    }
                },
                "startTimestampInMillis": at,
                "endTimestampInMillis": None if after is None else at + 900,
                "terminalState": None if after is None else "COMPLETED",
                "triggerCause": "NEW_RESOURCES_AVAILABLE",
                "terminatedReason": None if after is None else "SUCCEEDED",
            }
        )

    def answer(self, path: str):
        if "/rescales/" not in path:
            return super().answer(path)
        if self.broken is not None:
            return self.broken
        if path.endswith("/history"):
            return [each | {"vertices": {}} for each in reversed(self.rescales[-2:])]
        known = {each["rescaleUuid"]: each for each in self.rescales}
        return {uuid: known[uuid] for uuid in known.keys() - self.forgotten}[
            path.rpartition("/")[2]
        ]


@pytest.fixture
def flink(shared_data):
    flink = ScalingFlink(shared_data / "flink" / "failures" / "rest")
    flink.count = 2
    return flink


def kept() -> list[tuple]:
    return [
        (one["state"], one["vertices"][0]["before"], one["vertices"][0]["after"])
        for one in rescales.shown(EngineJob.objects.get())
    ]


def test_a_rescale_that_flink_forgets_meanwhile_is_kept_as_it_was_listed(ada, flink):
    with Server(flink) as url:
        flink.rescale(1, 2)
        flink.rescale(2, 4)
        flink.forgotten = {flink.rescales[0]["rescaleUuid"]}
        assert collecting.poll(ada, url).problems == []
    newest, listed = rescales.shown(EngineJob.objects.get())
    assert [vertex["after"] for vertex in newest["vertices"]] == [4]
    assert (listed["state"], listed["vertices"]) == ("completed", [])


def test_rescales_are_kept_after_flink_has_forgotten_them(ada, flink):
    with Server(flink) as url:
        for before, after in ((1, 2), (2, 4), (4, 3)):
            flink.rescale(before, after)
            assert collecting.poll(ada, url).problems == []
        collecting.poll(ada, url)
    assert kept() == [("completed", 4, 3), ("completed", 2, 4), ("completed", 1, 2)]
    assert len([path for path in flink.asked if "/details/0000" in path]) == 3
    job = EngineJob.objects.get()
    page = text_of(signed_in(ada).get(f"/archive/{job.pk}"))
    assert "&lt;map&gt;:" in page
    assert "4 → 3" in page
    assert "new resources available" in page
    (last, *_) = a_client(ada).get(f"/api/archive/{job.pk}/rescales").json()["items"]
    assert (last["started_at"], last["ended_at"]) == (BEGAN + 180_000, BEGAN + 180_900)


def test_a_rescale_that_goes_on_is_asked_for_again(ada, flink):
    flink.rescale(2, None)
    with Server(flink) as url:
        collecting.poll(ada, url)
        assert kept() == [("", 2, None)]
        flink.rescales.clear()
        flink.rescale(2, 4)
        collecting.poll(ada, url)
    assert kept() == [("completed", 2, 4)]


@pytest.mark.parametrize("broken", [{}, [], [3], [{"rescaleUuid": "../../jobs"}], "x", 7])
def test_odd_answers_keep_nothing_and_ask_for_no_other_address(ada, flink, broken):
    flink.broken = broken
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
    assert rescales.shown(EngineJob.objects.get()) == []
    assert not [path for path in flink.asked if "/details/.." in path]


def test_an_older_flink_and_another_scheduler_have_no_rescales(ada, flink):
    flink.answer = lambda path: RecordedFlink.answer(flink, path)
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
        flink.asked.clear()
        flink.job = flink.job | {"schedulerType": "Default"}
        collecting.poll(ada, url)
    assert not [path for path in flink.asked if "rescales" in path]
    assert "Rescales" not in text_of(signed_in(ada).get(f"/archive/{EngineJob.objects.get().pk}"))
