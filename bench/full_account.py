"""An account with many recordings: ``python -m bench.full_account [RECORDINGS]`` (default 100,000).

The rows are written straight into a database in memory. Three recordings have a store, to which all
rows lead. Each page, call and command that lists or counts recordings is asked for through Django's
test client, without the network. Requirements: <= 0.5 s of processor time, <= 250 kB.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

from bench.in_memory import set_up

RECORDINGS = 100_000
STORES = 3
ROUNDS = 3
BATCH = 2_000
JUDGED = {"snapshot": "s1", "verdict": "consistent"}
PAGES = (
    *(
        "/",
        "/?page=2",
        "/?page={pages}",
        "/?q=deploy+9",
        "/?sort=-size",
        "/?sort=format",
        "/?team=mine",
    ),
    *(
        "/jobs",
        "/jobs?page={pages}",
        "/jobs?q=ingest",
        "/reviews",
        "/reviews?q=lost",
        "/follow-ups",
    ),
    *(
        "/archive",
        "/topologies",
        "/mappings",
        "/learn",
        "/teams",
        "/compare/two",
        "/compare/two?q=9",
    ),
    *("/account", "/account/activity", "/account/notifications", "/operator", "/operator/people"),
    *("/operator/people/{owner}", "/operator/audit", "/reviews/{review}", "/topologies/{topology}"),
    *(
        "/recordings/{recording}",
        "/recordings/{recording}/snapshots",
        "/recordings/{recording}/delete",
    ),
    *(
        "/api/recordings?limit=100",
        "/api/recordings?limit=100&offset={late}",
        "/api/recordings?q=9",
    ),
    *("/api/archive", "/api/jobs", "/api/topologies", "/api/reviews", "/api/follow-ups"),
)


def main() -> None:
    count = int(float(sys.argv[1])) if sys.argv[1:] else RECORDINGS
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        set_up(Path(folder))
        measure(count)


def measure(count: int) -> None:
    """Fill the database that is set up, and print what each page and command takes."""
    client, names = fill(count)
    print(f"\n{count:,} recordings in one account")
    for address in PAGES:
        print(f"{address:44} {_asked(client, address.format(**names))}", flush=True)
    for words, work in _commands().items():
        began = process_time()
        work()
        print(f"{words:44} {(process_time() - began) * 1000:8.0f} ms", flush=True)


def fill(count: int) -> tuple[Any, dict[str, int]]:
    """Return a client of the owner of so many recordings, and the numbers for the addresses."""
    from django.conf import settings
    from django.test import Client

    from snapshots.models import Collector, EngineJob, Job, Recording, Snapshot, Topology
    from snapshots.reviews import incidents
    from snapshots.reviews.models import Entry, Exhibit, Review
    from snapshots.services.topologies import save_topology
    from tests.web.given import a_person, a_ready_recording
    from webapp.accounts.models import AuditEntry

    owner = a_person("owner@example.org")
    owner.is_staff = True
    owner.save()
    stores = [a_ready_recording(owner) for _ in range(STORES)]
    topology = save_topology(
        owner, {"name": "pair", "processes": [{"id": "A"}, {"id": "B"}], "channels": [["A", "B"]]}
    )
    fields = {"owner": owner, "status": "ready", "format": "cutline", "snapshot_count": 1}
    _insert(
        Recording,
        (
            Recording(
                name=f"deploy {number}",
                store=stores[number % STORES].store,
                upload=f"upload-{number}",
                size=number,
                stored_bytes=1_000,
                topology=topology if number % 10 == 0 else None,
                **fields,
            )
            for number in range(count)
        ),
    )
    keys = list(Recording.objects.order_by("-pk").values_list("pk", flat=True)[:count])
    _insert(Snapshot, (Snapshot(recording_id=pk, code=0, **JUDGED) for pk in keys))
    _insert(Job, (Job(kind="ingest", state="done", owner=owner, recording_id=pk) for pk in keys))
    by = {"action": "downloaded", "actor_id": owner.pk, "actor": str(owner)}
    _insert(AuditEntry, (AuditEntry(subject=f"recording {pk}", **by) for pk in keys))
    some = max(count // 100, 1)
    drawn = {"owner": owner, "definition": topology.definition}
    _insert(Topology, (Topology(name=f"pair {number}", **drawn) for number in range(some)))
    followed = {"owner": owner, "engine": "flink"}
    collector = Collector.objects.create(url=f"http://x:{count}", interval_seconds=10, **followed)
    archived = {**followed, "collector": collector, "state": "running"}
    _insert(EngineJob, (EngineJob(key=f"{count}-{pk}", **archived) for pk in keys[: count // 10]))
    review = incidents.open_review(owner, owner, {"title": "Orders were lost"})
    opened = {"owner": owner, "opened_by": owner}
    _insert(Review, (Review(title=f"lost {number}", **opened) for number in range(some)))
    note = {"author": owner, "number": 1, "sentence": "the recording", "text": "It was slow."}
    _insert(Entry, (Entry(recording_id=pk, **note) for pk in keys[:some]))
    _insert(Exhibit, (Exhibit(review=review, recording_id=pk, name=f"{pk}") for pk in keys[:20]))
    for number in range(count):
        (Path(settings.UPLOADS_DIR) / f"upload-{number}").touch()
    client = Client()
    client.force_login(owner)
    return client, {
        "owner": owner.pk,
        "review": review.pk,
        "topology": topology.pk,
        "recording": keys[0],
        "late": max(count - 100, 0),
        "pages": count // 100,
    }


def _insert(model: Any, rows: Iterator[Any]) -> None:
    model.objects.bulk_create(rows, batch_size=BATCH)


def _asked(client: Any, address: str) -> str:
    """Return the least processor time of some answers, their size and their queries, in words."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    worked = []
    for _ in range(ROUNDS):
        began = process_time()
        with CaptureQueriesContext(connection) as made:
            answer = client.get(address)
        worked.append((process_time() - began) * 1000)
    size = len(b"".join(answer)) if answer.streaming else len(answer.content)
    return (
        f"{min(worked):8.0f} ms, {len(made):4} queries, {size / 1000:6.0f} kB, {answer.status_code}"
    )


def _commands() -> dict[str, Callable[[], object]]:
    """Return what a worker does with the files and rows of all recordings."""
    from snapshots.jobs import sweeping
    from snapshots.services import retention

    return {
        "the first sweep of files": sweeping.sweep,
        "each further sweep of files": sweeping.sweep,
        "the hourly sweep": retention.sweep,
    }


if __name__ == "__main__":
    main()
