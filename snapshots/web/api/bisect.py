"""The calls that find the first state of a series at which a condition holds."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router

from snapshots import access
from snapshots.answers import bisect, bisect_choice
from snapshots.answers.bisect_series import SNAPSHOTS
from snapshots.payloads.bisect import BisectAnswer
from snapshots.web.api.parameters import ArchivedJobId, RecordingId
from snapshots.web.api.properties import PropertyQuestion
from snapshots.web.json import reply

router = Router()


class BisectQuestion(PropertyQuestion):
    """A condition, and whether it stays true once it holds."""

    stable: Any = Field(
        None,
        description="True if the condition stays true once it holds. Then a few states decide the "
        "others, and a sample of the others is checked.",
    )
    pipeline: Any = Field(
        None,
        description="The number of the pipeline, if the engine numbers the checkpoints of each "
        "pipeline separately; by default the one with the most checkpoints.",
    )


class RecordingBisectQuestion(BisectQuestion):
    """A condition, and the series of a recording in which it is searched."""

    series: Any = Field(
        None,
        description="`snapshots`, or `checkpoints` for the sums of an engine's upload; by default "
        "`snapshots`.",
        examples=[SNAPSHOTS],
    )
    job: Any = Field(
        None,
        description="The key of the job whose checkpoints are searched, empty for checkpoints of "
        "unknown jobs; by default the job with the most.",
    )


@router.post("/recordings/{int:id}/bisect", response=BisectAnswer, summary="Find the first state")
def bisect_recording(
    request: HttpRequest, id: RecordingId, body: RecordingBisectQuestion
) -> HttpResponse:
    """Find the first snapshot or checkpoint at which a condition holds.

    The answer has the difference to the one before, and for snapshots of a log the events that can
    have influenced it. At most 1,000 states are evaluated, in at most about 15 seconds.
    """
    recording = access.ready_recording(request.user, id)
    question = body.dict()
    return reply(bisect.first_state(bisect_choice.of_recording(recording, question), question))


@router.post("/archive/{int:id}/bisect", response=BisectAnswer, summary="Find the first checkpoint")
def bisect_archived_job(
    request: HttpRequest, id: ArchivedJobId, body: BisectQuestion
) -> HttpResponse:
    """Find the first archived checkpoint at which a condition on its sums holds.

    Only checkpoints that one of your uploads holds are searched: the archive alone has no state.
    """
    job = access.engine_job(request.user, id)
    uploads = access.recordings(request.user).filter(engine_jobs=job)
    question = body.dict()
    series = bisect_choice.of_archive(job, uploads, question)
    return reply(bisect.first_state(series, question))
