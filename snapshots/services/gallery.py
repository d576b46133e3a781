"""Load the samples: recordings and topologies that everyone sees and nobody owns."""

import gzip
import hashlib

from django.db import transaction

from snapshots.domain.dataflow_logs.dataflow import FORWARD, HASH, Dataflow, Edge, Vertex
from snapshots.domain.model import shapes
from snapshots.domain.model.topology import Topology as Shape
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.samples import smallest
from snapshots.domain.simulators.sample import Sample
from snapshots.domain.simulators.samples import SAMPLES as SAMPLES_OF_PROCESSES
from snapshots.files import uploads
from snapshots.models import Job, Recording, Topology
from snapshots.readers.logs.native import NativeReader, write_lines
from snapshots.services.jobs import create_job
from snapshots.services.recordings import kept
from snapshots.simulating import topology_documents
from snapshots.store.manifest import VERSION

SAMPLES = (*SAMPLES_OF_PROCESSES, *SAMPLES_OF_DATAFLOWS)

WORD_COUNT = Dataflow(
    (
        Vertex("source", "source", 2, rate=1_000, records=100, keys=12, skew=1.0),
        Vertex("count", "operator", 3, function="count", cost=300),
        Vertex("sink", "sink", 2, sink="two-phase", cost=150),
    ),
    (Edge("source", "count", HASH), Edge("count", "sink", HASH)),
)
TWO_PIPELINES = Dataflow(
    (
        Vertex("orders", "source", 2, rate=1_000, records=80),
        Vertex("totals", "operator", 2, function="sum", cost=250),
        Vertex("report", "sink", 2, sink="idempotent"),
        Vertex("clicks", "source", 2, rate=2_000, records=120),
        Vertex("archive", "sink", 2, sink="two-phase"),
    ),
    (
        Edge("orders", "totals", HASH),
        Edge("totals", "report", FORWARD),
        Edge("clicks", "archive", FORWARD),
    ),
)
TOPOLOGIES: dict[str, tuple[str, Shape | Dataflow]] = {
    "two": ("Two processes", shapes.complete(2)),
    "ring-of-five": ("Ring of five", shapes.ring(5)),
    "complete-of-four": ("Complete graph of four", shapes.complete(4)),
    "random-of-fifty": ("Random network of fifty", shapes.random_connected(50, 3.4, seed=7)),
    "smallest-dataflow": ("The smallest dataflow", smallest().dataflow),
    "word-count": ("Word count", WORD_COUNT),
    "two-pipelines": ("Two pipelines", TWO_PIPELINES),
}
"""Name and topology by slug."""


def load() -> tuple[list[Job], list[str]]:
    """Bring the gallery up to date; return the new jobs, and the slugs of unchanged samples."""
    for slug, (name, shape) in TOPOLOGIES.items():
        _save_topology(slug, name, shape)
    jobs, unchanged = [], []
    for sample in SAMPLES:
        if (job := _load(sample)) is not None:
            jobs.append(job)
        else:
            unchanged.append(sample.slug)
    return jobs, unchanged


def _save_topology(slug: str, name: str, shape: Shape | Dataflow) -> None:
    if isinstance(shape, Dataflow):
        definition = topology_documents.document_of_dataflow(shape)
    else:
        definition = topology_documents.document_of(shape)
    row = Topology.objects.filter(slug=slug).first()
    if row is None or (row.name, row.definition) != (name, definition):
        Topology.objects.update_or_create(
            slug=slug, defaults={"name": name, "definition": definition, "owner": None}
        )


def _load(sample: Sample) -> Job | None:
    """Return the job that ingests a sample, or None if the stored one has the same content."""
    log = sample.log()
    content = b"".join(write_lines(log.header, log.events))
    fingerprint = hashlib.sha256(b"%d %b" % (VERSION, content)).hexdigest()
    row = Recording.objects.filter(slug=sample.slug).first()
    if row is not None and row.fingerprint == fingerprint and _is_usable(row):
        Recording.objects.filter(pk=row.pk).update(
            name=sample.title, description=sample.description
        )
        return None
    return _replace(sample, row or Recording(slug=sample.slug), fingerprint, content)


def _is_usable(row: Recording) -> bool:
    return row.status in (
        Recording.Status.QUEUED,
        Recording.Status.RUNNING,
        Recording.Status.READY,
    )


def _replace(sample: Sample, row: Recording, fingerprint: str, content: bytes) -> Job:
    with uploads.Draft() as draft:
        draft.write(gzip.compress(content, mtime=0))
        replaced, row.upload = row.upload, draft.name
        row.name, row.description = sample.title, sample.description
        row.fingerprint, row.size = fingerprint, draft.size
        row.source_name, row.format = f"{sample.slug}.jsonl.gz", NativeReader.name
        row.status, row.error = Recording.Status.QUEUED, None
        with kept([draft]), transaction.atomic():
            row.save()
            job = create_job(Job.Kind.INGEST, None, recording=row)
            transaction.on_commit(lambda: uploads.remove(replaced))
    return job
