"""Payloads of the first answer to a recording."""

from typing import Annotated, Any

from snapshots.domain.answering import job_report, sentences
from snapshots.domain.answering.sentences import FirstAnswer
from snapshots.domain.model.as_json import as_json
from snapshots.payloads.declaring import Payload, documented, many, payload_of

payload_of(job_report.TaskLoad, "TaskLoadItem")
payload_of(job_report.JobFailure, "JobFailureItem")
EvidenceItem = Annotated[
    dict[str, Any],
    Payload(
        payload_of(
            sentences.Evidence,
            "EvidenceItem",
            more={"address": documented(str, "The path of the page that shows it.")},
        )
    ),
]
SentenceItem = payload_of(
    sentences.Sentence,
    "SentenceItem",
    more={"evidence": many(EvidenceItem, "Where it can be checked.")},
)
SubjectItem = payload_of(sentences.Subject, "SubjectItem")
FirstAnswerDetail = payload_of(FirstAnswer, "FirstAnswerDetail")


def first_answer_detail(answer: FirstAnswer) -> dict[str, Any]:
    """Return a first answer as JSON, in which the evidence has no addresses yet."""
    return as_json(answer)
