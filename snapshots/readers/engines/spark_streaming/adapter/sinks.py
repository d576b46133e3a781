"""Which batches a file sink has taken, told by its own log."""

from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.upload import SINK_LOG, SinkLog, SparkUpload

FILE_SINK = "FileSink["


def listed_files(upload: SparkUpload, jobs: tuple[SparkJob, ...]) -> dict[int, int]:
    """How many files each batch has added to the file sink; batches of which that is not known are
    absent.

    Only of an upload with one checkpoint and one file sink: else nobody knows whose it is.
    """
    if len(jobs) != 1 or len(upload.sinks) != 1:
        return {}
    sink = jobs[0].checkpoint.topology.sink
    if sink is not None and not sink.startswith(FILE_SINK):
        return {}
    return _added(upload, upload.sinks[0])


def _added(upload: SparkUpload, sink: SinkLog) -> dict[int, int]:
    """A compacted file of the log repeats all that came before; what is new in it is only known
    where all of that is there."""
    found: dict[int, int] = {}
    seen: set[str] = set()
    complete_to = -1  # the last batch up to which all files are known
    for batch in sorted(sink.written):
        urls = sink.written[batch]
        compacted = f"{sink.folder}/{SINK_LOG}/{batch}.compact" in upload.roles
        if not compacted:
            found[batch] = len(urls)
        elif complete_to == batch - 1:
            found[batch] = sum(url not in seen for url in urls)
        seen.update(urls)
        if compacted or complete_to == batch - 1:
            complete_to = batch
    return found
