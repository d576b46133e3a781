"""How long the server takes for a large review: ``python -m bench.reviews [ENTRIES]``.

A review of 30 people and 1,000 entries, all of them in its timeline, is made in a database of its
own, in memory. Each part is asked for through Django's test client, without the network.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from bench.in_memory import set_up

ENTRIES = 1_000
PEOPLE = 30
ROUNDS = 7
PARTS = {
    "the page": "/reviews/{id}",
    "its timeline alone": "/reviews/{id}?part=timeline",
    "one row": "/reviews/{id}?part=row&row={row}",
    "its log alone": "/reviews/{id}?part=log",
    "100 rows over the API": "/api/reviews/{id}/timeline",
}


def main() -> None:
    entries = int(float(sys.argv[1])) if sys.argv[1:] else ENTRIES
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        set_up(Path(folder))
        measure(entries)


def measure(entries: int) -> None:
    """Make a review in the database that is set up, and print how long its parts take."""
    client, names = _filled(entries)
    for words, address in PARTS.items():
        took = _measured(client, address, names)
        print(f"{entries:,} entries, {PEOPLE} people, {words}: {took}")


def _filled(entries: int):
    """Return a client of the owner of a full review, and the numbers for its addresses."""
    from django.test import Client

    from snapshots.reviews import incidents, timeline
    from snapshots.reviews.models import Entry, Participant
    from tests.web.given import a_person, a_ready_recording

    owner = a_person("owner@example.org")
    banks = a_ready_recording(owner)
    review = incidents.open_review(owner, owner, {"title": "Orders were lost"})
    incidents.add_exhibit(owner, review, banks)
    people = [a_person(f"person{number}@example.org") for number in range(1, PEOPLE)]
    Participant.objects.bulk_create(Participant(review=review, person=each) for each in people)
    Entry.objects.bulk_create(
        Entry(
            recording=banks,
            author=owner,
            number=number,
            place="event:B:2",
            sentence="event 2 of B at 3.8 ms: receive m1 from A",
            at=number,
            text=f"What **{number}** says, with `code` and [a link](/recordings).",
        )
        for number in range(1, entries + 1)
    )
    timeline.add_all(owner, review)
    client = Client()
    client.force_login(owner)
    return client, {"id": review.pk, "row": review.rows.first().pk}


def _measured(client, address: str, names: dict[str, int]) -> str:
    """Return the median time of an answer and its size, in words."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    headers = {"HX-Request": "true"} if "part=" in address else {}
    times, worked = [], []
    for _ in range(ROUNDS):
        began, used = perf_counter(), process_time()
        answer = client.get(address.format(**names), headers=headers)
        times.append((perf_counter() - began) * 1000)
        worked.append((process_time() - used) * 1000)
    assert answer.status_code == 200, answer.content
    with CaptureQueriesContext(connection) as made:
        client.get(address.format(**names), headers=headers)
    size = len(answer.content) / 1000
    return (
        f"{median(times):.0f} ms, of which the processor worked {median(worked):.0f} ms, "
        f"{len(made)} queries, {size:,.0f} kB"
    )


if __name__ == "__main__":
    main()
