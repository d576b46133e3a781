"""What is told to open pages: groups of the channel layer, and sending to them from plain code.

Whoever misses a message finds the truth in the job's row, so a channel layer that cannot be reached
is worth a line in the log and never stops a job.
"""

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

from snapshots import payloads
from snapshots.models import Job

logger = logging.getLogger(__name__)


def jobs_group(user_id: int) -> str:
    """The group of the pages on which a person watches their jobs."""
    return f"jobs.{user_id}"


def followers_group(recording_id: int) -> str:
    """The group of those who follow the presenter's cursor in a recording."""
    return f"recording.{recording_id}.followers"


def job_changed(job: Job) -> None:
    """Tell the owner's pages how the job is now. Samples are nobody's: nobody is told."""
    if job.owner_id is None:
        return
    message = {"type": "job.changed", "job": payloads.job_detail(job)}
    try:
        async_to_sync(get_channel_layer().group_send)(jobs_group(job.owner_id), message)
    except Exception as error:  # redis-py, channels and the network have many names for this
        logger.warning("Job %s: open pages could not be told (%s). Is Redis up?", job.pk, error)
