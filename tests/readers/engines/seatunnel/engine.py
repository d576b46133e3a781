"""Uploads of SeaTunnel for the tests of its adapter, real and made by hand."""

import json

from snapshots.domain.assembling.assembly import assemble
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from tests.readers.engines.seatunnel.test_seatunnel import a_name, a_state, an_action, encoded

NAMES = ["real-wire-vectors", "synthetic-fake-to-localfile", "synthetic-two-pipelines-idle-reader"]
SOURCE = "ActionStateKey - pipeline-1 [Source[0]-Fake]"
SINK = "ActionStateKey - pipeline-1 [Sink[0]-File]"


def upload_of(folder):
    return SeaTunnelReader().read(folder)


def derived(upload):
    """Return header and events of the derived recording."""
    header, events = upload.recording()
    return header, list(events)


def assembled(upload):
    return assemble(*derived(upload))


def facts(item):
    return {fact.name: fact.value for fact in item.facts}


def a_vertex(number, *acks):
    """Return a task vertex whose subtasks acknowledge so many ms after the trigger (at 1000)."""
    listed = [
        (2, 1) if at is None else (1, [(1, place), (2, 1000 + at), (3, 1), (4, 0)])
        for place, at in enumerate(acks)
    ]
    flags = [(1, 0)]
    return [(1, number), (2, [(1, number), (2, listed), (3, flags), (4, len(acks))])]


def a_file(id=7, pipeline=1, job=5, at=1000, actions=(), vertices=(), took=90):
    inner = encoded(
        (1, job), (2, pipeline), (3, id), (4, at), (5, 0), (6, at + took),
        (7, [(1, action) for action in actions]), (8, [(1, vertex) for vertex in vertices]), (9, 0),
    )  # fmt: skip
    return encoded((1, str(job).encode()), (2, pipeline), (3, id), (4, inner))


def named(id, job=5, pipeline=1, at=1100):
    return f"{job}/{at}-1-{pipeline}-{id}.ser"


def two_actions(readers=2):
    states = [a_state(place, b'{"split": 1}') for place in range(readers)]
    return [
        an_action(a_name(SOURCE), states, a_state(-1, b"[]"), readers),
        an_action(a_name(SINK), states, a_state(-1, b"[]"), readers),
    ]


GRAPH = {
    "jobId": "5",
    "jobName": "orders to files",
    "jobStatus": "RUNNING",
    "createTime": "2026-01-01 10:00:00",
    "isStartWithSavePoint": False,
    "jobDag": {
        "vertexInfoMap": [
            {"vertexId": 1, "type": "source", "vertexName": "pipeline-1 [Source[0]-Fake]"},
            {"vertexId": 2, "type": "sink", "vertexName": "pipeline-1 [Sink[0]-File]"},
        ],
        "pipelineEdges": {"1": [{"inputVertexId": "1", "targetVertexId": "2"}]},
    },
}


def listed(id, status, at=5000, **fields):
    return {
        "checkpointId": id, "checkpointType": "checkpoint", "status": status,
        "triggerTimestamp": at, "stateSize": 3, **fields,
    }  # fmt: skip


def an_answer(*history, in_progress=(), pipeline=1):
    entries = [{"pipelineId": pipeline, "checkpoint": item} for item in history]
    pipelines = [{"pipelineId": pipeline, "counts": {}, "inProgress": list(in_progress),
                  "latestCompleted": {}, "history": entries}]  # fmt: skip
    return json.dumps({"jobId": "5", "updatedAt": 20_000, "pipelines": pipelines}).encode()
