"""How many files each batch added to a file sink, as the sink's own log says."""

from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.upload import SINK_LOG, SparkUpload

FILE_SINK = "FileSink["


def listed_files(upload: SparkUpload, jobs: tuple[SparkJob, ...]) -> dict[int, int]:
    """Return the number of files by batch, without batches of which it is not known.

    It is known only in an upload with one checkpoint and one file sink: else nobody knows to which
    query a sink belongs. A compacted file of the log repeats all that came before; what is new in
    it is known only if all of that is there.
    """
    if len(jobs) != 1 or len(upload.sinks) != 1:
        return {}
    name = jobs[0].checkpoint.topology.sink
    if name is not None and not name.startswith(FILE_SINK):
        return {}
    sink = upload.sinks[0]
    added: dict[int, int] = {}
    seen: set[str] = set()
    complete_to = -1  # the last batch up to which all files are known
    for batch in sorted(sink.written):
        urls = sink.written[batch]
        compacted = f"{sink.folder}/{SINK_LOG}/{batch}.compact" in upload.roles
        if not compacted:
            added[batch] = len(urls)
        elif complete_to == batch - 1:
            added[batch] = sum(url not in seen for url in urls)
        seen.update(urls)
        if compacted or complete_to == batch - 1:
            complete_to = batch
    return added
