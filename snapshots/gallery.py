"""The samples: recordings and topologies that everyone sees and nobody owns."""

import gzip
import hashlib
from collections.abc import Iterator

from django.db import transaction

from snapshots import services, topologies, uploads
from snapshots.domain import topologies as shapes
from snapshots.domain.samples import SAMPLES, Sample
from snapshots.domain.topology import Topology as Shape
from snapshots.models import Job, Recording, Topology
from snapshots.readers.native import NativeReader, write_lines

TOPOLOGIES: dict[str, tuple[str, Shape]] = {
    "two": ("Two processes", shapes.complete(2)),
    "ring-of-five": ("Ring of five", shapes.ring(5)),
    "complete-of-four": ("Complete graph of four", shapes.complete(4)),
    "random-of-fifty": ("Random network of fifty", shapes.random_connected(50, 3.4, seed=7)),
}
"""name and topology by slug."""


def load() -> tuple[list[Job], list[str]]:
    """Bring the gallery up to date: the jobs that were begun for it, and the slugs left alone."""
    for slug, (name, shape) in TOPOLOGIES.items():
        _save_topology(slug, name, shape)
    jobs, unchanged = [], []
    for sample in SAMPLES:
        if (job := _load(sample)) is not None:
            jobs.append(job)
        else:
            unchanged.append(sample.slug)
    return jobs, unchanged


def _save_topology(slug: str, name: str, shape: Shape) -> None:
    definition = topologies.document_of(shape)
    row = Topology.objects.filter(slug=slug).first()
    if row is None or (row.name, row.definition) != (name, definition):
        Topology.objects.update_or_create(
            slug=slug, defaults={"name": name, "definition": definition, "owner": None}
        )


def _load(sample: Sample) -> Job | None:
    """The job that ingests it; None where the recording there is of the same content."""
    content = b"".join(_lines(sample))
    fingerprint = hashlib.sha256(content).hexdigest()
    row = Recording.objects.filter(slug=sample.slug).first()
    if row is not None and row.fingerprint == fingerprint and _is_well(row):
        Recording.objects.filter(pk=row.pk).update(
            name=sample.title, description=sample.description
        )
        return None
    return _replace(sample, row or Recording(slug=sample.slug), fingerprint, content)


def _is_well(row: Recording) -> bool:
    return row.status in (
        Recording.Status.QUEUED,
        Recording.Status.RUNNING,
        Recording.Status.READY,
    )


def _lines(sample: Sample) -> Iterator[bytes]:
    log = sample.log()
    return write_lines(log.header, log.events)


def _replace(sample: Sample, row: Recording, fingerprint: str, content: bytes) -> Job:
    with uploads.Draft() as draft:
        draft.write(gzip.compress(content, mtime=0))
        replaced, row.upload = row.upload, draft.name
        row.name, row.description = sample.title, sample.description
        row.fingerprint, row.size = fingerprint, draft.size
        row.source_name, row.format = f"{sample.slug}.jsonl.gz", NativeReader.name
        row.status, row.error = Recording.Status.QUEUED, None
        with services.kept([draft]), transaction.atomic():
            row.save()
            job = services.create_job(Job.Kind.INGEST, None, recording=row)
            transaction.on_commit(lambda: uploads.remove(replaced))
    return job
