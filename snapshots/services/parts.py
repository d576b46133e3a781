"""Open a part of a recording as a recording of its own."""

from snapshots.files.uploads import Draft, DraftUpload
from snapshots.models import Job
from snapshots.readers.logs.native import NativeReader
from snapshots.services.recordings import accept_uploads


def open_part(user, content: bytes, name: str) -> Job:
    """Upload a part for a person, within what the person may store.

    Args:
        content: the file in the native format.
        name: the name of the file.

    Raises: Refused, NoRoom, TooMany.
    """
    with Draft() as draft:
        draft.write(content)
        upload = DraftUpload(draft, name, "application/x-ndjson")
        [job] = accept_uploads(user, [upload], format=NativeReader.name)
        return job
