"""A job with any number of checkpoints that look like Flink's: mostly quick, some slow under back
pressure, some failed, with state that grows and is compacted.

``python -m bench.synthetic_archive EMAIL [CHECKPOINTS]`` writes one into the archive of a user.
"""

import os
import random
import sys
import uuid
from collections.abc import Iterator
from itertools import pairwise

from snapshots.domain.archive.model import CheckpointFacts, SubtaskFacts, VertexFacts

BEGAN = 1_795_000_000_000  # epoch ms
INTERVAL = 10_000  # ms
NAMES = ("Source: orders", "parse", "enrich", "window", "Sink: ledger")
SUBTASKS = 10  # of each vertex
CHUNK = 5_000


def checkpoints(count: int, seed: int = 1) -> Iterator[CheckpointFacts]:
    """Yield the checkpoints with the numbers 1 to ``count``."""
    dice = random.Random(seed)
    pressure = 0.0
    for number in range(1, count + 1):
        pressure = max(0.0, pressure * 0.97 + (dice.random() < 0.004) * dice.uniform(5, 40))
        yield _checkpoint(dice, number, pressure)


def _checkpoint(dice: random.Random, number: int, pressure: float) -> CheckpointFacts:
    slow = dice.randrange(len(NAMES) * SUBTASKS) if dice.random() < 0.01 else None
    vertices, longest, size = [], 0, 0
    for place, name in enumerate(NAMES):
        subtasks = []
        for index in range(SUBTASKS):
            one = _subtask(dice, place, index, pressure, slow == place * SUBTASKS + index, number)
            longest, size = max(longest, one.duration), size + one.bytes
            subtasks.append(one)
        vertices.append(VertexFacts(f"{place:032x}", name, SUBTASKS, tuple(subtasks)))
    failed = dice.random() < 0.01 + pressure / 400
    kind = "savepoint" if number % 5_000 == 0 else "checkpoint"
    triggered = BEGAN + number * INTERVAL
    total = len(NAMES) * SUBTASKS
    words = dice.choice(
        ["Checkpoint expired before completing.", "Asynchronous task checkpoint failed."]
    )
    return CheckpointFacts(
        number,
        kind=kind,
        status="failed" if failed else "completed",
        triggered_at=triggered,
        ended_at=triggered + longest,
        duration=longest,
        bytes=size,
        uploaded=size // 3,
        subtasks=total,
        acknowledged=total - failed,
        failure=words if failed else "",
        path="" if failed else f"file:/checkpoints/chk-{number}",
        vertices=tuple(vertices),
    )


def _subtask(
    dice: random.Random, place: int, index: int, pressure: float, slow: bool, number: int
) -> SubtaskFacts:
    delay = int((1 + place) * (3 + pressure * dice.uniform(5, 9)) + dice.expovariate(0.3))
    alignment = int(place and dice.expovariate(0.2) * (1 + pressure / 3))
    sync, upload = dice.randrange(4), int(20 + dice.expovariate(0.05))
    upload += dice.randrange(2_000, 9_000) if slow else 0
    state = int((200_000 + number % 7_000 * 40) * (1 + place + index / 20))
    return SubtaskFacts(
        index,
        True,
        False,
        delay,
        alignment,
        sync,
        upload,
        delay + alignment + sync + upload,
        state,
        state // 3,
        0,
    )


def fill(owner, count: int):
    """Write the job into the archive. All rows are written at once, for merging is for existing
    checkpoints."""
    from django.db import transaction

    from snapshots.archive.filling import columns_of
    from snapshots.domain.archive.packing import pack
    from snapshots.models import EngineCheckpoint, EngineCheckpointDetail, EngineJob

    with transaction.atomic():
        job = EngineJob.objects.create(
            owner=owner, engine="flink", key=uuid.uuid4().hex, name="orders", state="running"
        )
        rows, details = [], []
        for facts in checkpoints(count):
            row = EngineCheckpoint(job=job, version=1, **columns_of(facts))
            rows.append(row)
            details.append(EngineCheckpointDetail(checkpoint=row, packed=pack(facts.vertices)))
            if len(rows) == CHUNK or facts.number == count:
                EngineCheckpoint.objects.bulk_create(rows, batch_size=500)
                for detail in details:
                    detail.checkpoint_id = detail.checkpoint.pk
                EngineCheckpointDetail.objects.bulk_create(details, batch_size=500)
                rows, details = [], []
        job.version = 1
        job.save()
    return job


def poll_stuck(job, number: int, count: int = 6) -> None:
    """Keep polls of a checkpoint whose barriers are held up before the vertex *window*."""
    from snapshots.archive import polls
    from snapshots.domain.front.model import Load, Poll, PolledEdge, PolledVertex

    ids = [f"{place:032x}" for place in range(len(NAMES))]
    edges = [PolledEdge(*pair, "HASH", is_all_to_all=True) for pair in pairwise(ids)]
    triggered = BEGAN + number * INTERVAL
    for poll in range(count):
        vertices = []
        for place, name in enumerate(NAMES):
            done = SUBTASKS if place < 3 else 0
            if place == 3:
                done = min(poll, SUBTASKS)
            load = Load(1.0, 0.0) if place == 3 else Load(0.1, 0.95 if place < 3 else 0.0)
            pending = tuple(range(done, SUBTASKS))
            vertices.append(PolledVertex(ids[place], name, SUBTASKS, done, pending, load=load))
        at = triggered + 8_000 + poll * 10_000
        told = Poll(number, at, triggered, False, tuple(vertices), tuple(edges))
        polls.keep(job, told)


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    from webapp.accounts.services import get_or_create_user

    count = int(float(sys.argv[2])) if len(sys.argv) > 2 else 100_000
    print(fill(get_or_create_user(sys.argv[1]), count).pk)


if __name__ == "__main__":
    main()
