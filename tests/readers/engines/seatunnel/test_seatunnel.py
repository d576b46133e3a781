"""SeaTunnel's checkpoint files and REST answers."""

import contextlib
import json
import zipfile
from dataclasses import asdict

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.seatunnel import checkpoint as reading
from snapshots.readers.engines.seatunnel import protostuff, rest
from snapshots.readers.engines.seatunnel.names import action_name, file_name
from snapshots.readers.engines.seatunnel.payloads import LARGEST, MOST_NULLS, Decoder
from snapshots.readers.engines.seatunnel.protostuff import BYTES, GROUP, VARINT
from snapshots.readers.engines.seatunnel.upload import SeaTunnelLimits, read_upload
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.seatunnel.cases import agreement, cases
from tests.readers.mutated import mutated

NAMES = ["real-wire-vectors", "synthetic-fake-to-localfile", "synthetic-two-pipelines-idle-reader"]
COMPARED = dict(zip(NAMES, (75, 586, 557), strict=True))


def varint(number):
    number %= 2**64
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def encoded(*fields):
    """Write fields, each a pair of a number and an int, bytes, or a list of fields."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3 | VARINT) + varint(value)
        elif isinstance(value, bytes):
            out += varint(number << 3 | BYTES) + varint(len(value)) + value
        else:
            out += varint(number << 3 | GROUP) + encoded(*value) + varint(number << 3 | 4)
    return out


def again(fields):
    """Write fields that were read."""
    return encoded(*((f.number, _plain(f.value)) for f in fields))


def _plain(value):
    return [(f.number, _plain(f.value)) for f in value] if isinstance(value, tuple) else value


def a_state(index, *elements):
    return [(2, index), (3, [(1, e) if isinstance(e, bytes) else (2, e) for e in elements])]


def an_action(key, subtasks=(), coordinator=None, parallelism=2):
    """Write an action; ``subtasks`` are states, or numbers of consecutive nulls."""
    listed = [(2, item) if isinstance(item, int) else (1, item) for item in subtasks]
    state = [] if coordinator is None else [(3, coordinator)]
    return [(1, key), (2, [(2, listed), *state, (4, parallelism)])]


def a_name(text):
    return [(1, text.encode())]


def a_checkpoint(id=7, pipeline=1, job=5, actions=(), type=0, further=()):
    states = [(1, action) for action in actions]
    return encoded(
        (1, job), (2, pipeline), (3, id), (4, 1000), (5, type), (6, 1090), (7, states), (8, []),
        (9, 0), *further,
    )  # fmt: skip


def a_file(id=7, pipeline=1, job=5, **fields):
    inner = a_checkpoint(id, pipeline, job, **fields)
    return encoded((1, str(job).encode()), (2, pipeline), (3, id), (4, inner))


def read(data):
    return reading.read_checkpoint(data, "f", Decoder(2**20))[1]


def save(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def real_files(shared_data):
    for archive in cases(shared_data):
        with zipfile.ZipFile(archive) as opened:
            yield from (opened.read(n) for n in opened.namelist() if n.endswith(".ser"))


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_as_expected(shared_data, name):
    agreed = agreement(shared_data / "seatunnel" / f"{name}.zip")
    assert agreed == {"compared": COMPARED[name], "agreed": COMPARED[name]}


def test_reading_loses_no_byte_of_the_real_files(shared_data):
    files = list(real_files(shared_data))
    assert len(files) == 13
    for data in files:
        assert again(protostuff.parse(data)) == data


def test_payloads_lie_at_their_offsets(shared_data):
    for data in real_files(shared_data):
        for action in read(data).actions:
            for state in (*action.subtasks, action.coordinator):
                for element in state.elements if state else ():
                    start = data[element.offset : element.offset + element.size]
                    is_opaque = isinstance(element.content, Opaque)
                    known = element.content.head if is_opaque else b"\xac\xed\x00\x05"
                    assert start.startswith(known)


def test_numbered_actions_of_the_earliest_versions():
    checkpoint = read(a_checkpoint(actions=[an_action(12, [a_state(0, b"x")])]))
    assert (checkpoint.layout, checkpoint.actions[0].key) == ("numbered", 12)
    assert checkpoint.actions[0].subtasks[0].size == 1


def test_the_newer_layout_is_recognised_by_its_type():
    action = an_action(b"ActionStateKey - pipeline-1 [Source[0]-Fake]", [a_state(0, b"x")])
    data = encoded((1, 7), (2, 1), (3, 5), (4, 1000), (5, b"SAVEPOINT_TYPE"), (6, 1090),
                   (7, [(1, action)]), (8, []))  # fmt: skip
    checkpoint = read(data)
    assert (checkpoint.layout, checkpoint.id, checkpoint.job, checkpoint.type) == (
        "engine-wire-v1", 7, 5, "SAVEPOINT_TYPE",
    )  # fmt: skip
    assert (checkpoint.restored, checkpoint.actions[0].key[-6:]) == (None, "-Fake]")


def test_nulls_stand_for_subtasks_and_elements():
    checkpoint = read(a_checkpoint(actions=[an_action(a_name("s"), [2, a_state(2, 3, b"x"), 1])]))
    subtasks = checkpoint.actions[0].subtasks
    assert [subtask and subtask.index for subtask in subtasks] == [None, None, 2, None]
    assert [element and element.size for element in subtasks[2].elements] == [None] * 3 + [1]


def test_fields_that_are_new_are_named_and_types_that_are_new_are_numbers():
    checkpoint = read(a_checkpoint(type=9, further=[(10, b"abc"), (12, [(1, 5)])]))
    assert checkpoint.unknown == (
        ("CompletedCheckpoint, field 10", 3),
        ("CompletedCheckpoint, field 12", 1),
    )
    assert checkpoint.type == 9


def test_states_are_java_json_or_opaque():
    elements = [b'{"a": [1]}', b"\x01\x02", b"{", b"[" * 200 + b"]" * 200, b"{}" + bytes(LARGEST)]
    checkpoint = read(a_checkpoint(actions=[an_action(a_name("s"), [a_state(0, *elements)])]))
    first, *others = checkpoint.actions[0].subtasks[0].elements
    assert (first.encoding, first.content) == ("json", {"a": [1]})
    assert all(isinstance(other.content, Opaque) and other.content.reason for other in others)


def test_decoded_bytes_are_bounded():
    data = a_checkpoint(actions=[an_action(a_name("s"), [a_state(0, *[b"[1]"] * 5)])])
    _, checkpoint = reading.read_checkpoint(data, "f", Decoder(9))
    elements = checkpoint.actions[0].subtasks[0].elements
    assert [isinstance(element.content, Opaque) for element in elements] == [False] * 3 + [True] * 2


def test_nulls_and_fields_are_bounded_in_all_files_together(tmp_path):
    """A file of a hundred bytes may claim a hundred thousand nulls, and there may be thousands."""
    half = [an_action(a_name("s"), [MOST_NULLS // 2, a_state(0, b"x")])]
    files = {f"5/100-1-1-{id}.ser": a_file(id, actions=half) for id in range(1, 5)}
    upload = read_upload(save(tmp_path, files), SeaTunnelLimits())
    assert [len(pipeline.checkpoints) for pipeline in upload.pipelines] == [2]
    unread = [file for file in upload.files if file.kind == "unknown"]
    assert [f"at most {MOST_NULLS:,}" in file.content.reason for file in unread] == [True] * 2
    decoder = Decoder(0)
    decoder.fields.left = 30
    data = a_file(actions=[an_action(a_name("s"), [a_state(0, b"x")])])
    reading.read_checkpoint(data, "f", decoder)
    with pytest.raises(Malformed, match="fields"):
        reading.read_checkpoint(data, "f", decoder)


DAMAGE = {
    "an end without a beginning": encoded((1, 5)) + b"\x14",
    "a group without an end": b"\x3b\x08\x01",
    "the end of another group": b"\x3b\x08\x01\x44",
    "wire type 6": b"\x0e",
    "field 0": b"\x00\x01",
    "a varint without an end": b"\x08" + b"\xff" * 11,
    "bytes beyond the end": b"\x0a\xff\xff\xff\xff\x0f",
    "groups in groups": b"\x3b" * 5000,
    "very many nulls": a_checkpoint(actions=[an_action(a_name("s"), [2**40])]),
    "no id": encoded((1, 5)),
    "an id that is bytes": encoded((1, 5), (3, b"x")),
    "another checkpoint inside": encoded((1, b"5"), (2, 1), (3, 8), (4, a_checkpoint())),
    "no checkpoint inside": encoded((1, b"5"), (2, 1), (3, 8)),
    "a field twice": encoded((1, 5), (3, 7), (3, 7)),
    "a key that is no text": a_checkpoint(actions=[an_action([(1, b"\xff")])]),
    "nothing": b"",
}


@pytest.mark.parametrize("data", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_malformed(data):
    with pytest.raises(Malformed):
        read(data)


def test_a_group_ends_with_its_own_number():
    for data in (b"\x3b\x08\x01\x44", b"\x3b\x08\x01", b"\x14"):
        with pytest.raises(Malformed, match="group"):
            protostuff.parse(data)


def test_lengths_of_flags_must_agree():
    [group] = protostuff.parse(encoded((3, [(1, 2), (2, 1), (2, 0)])))
    assert protostuff.flags(group.value) == (True, False)
    [group] = protostuff.parse(encoded((3, [(1, 3), (2, 1), (2, 0)])))
    with pytest.raises(Malformed, match="length"):
        protostuff.flags(group.value)


def test_names():
    name = file_name("checkpoint/912345678901234561/1714521610157-807-1-2.ser")
    assert asdict(name) == {
        "job": 912345678901234561, "pipeline": 1, "checkpoint": 2, "number": 807,
        "written_at": 1714521610157, "unfinished": False,
    }  # fmt: skip
    assert file_name("x/1714521610157-12-1-2.sertmp").unfinished
    assert file_name("savepoint/.staging/a/3-9.ser").unfinished
    assert (file_name("savepoint/a/3-9.ser").pipeline, file_name("a.ser")) == (3, None)
    known = action_name("ActionStateKey - pipeline-2 [TransformChain[Transform[0]-Sql]]")
    assert (known.name, known.pipeline) == ("TransformChain[Transform[0]-Sql]", 2)
    roles = [
        action_name(f"ActionStateKey - pipeline-1 [{n}]").role
        for n in ("Source[0]-x", "Sink[1]-y", "z")
    ]
    assert roles == ["source", "sink", None]


def kinds(pipeline, kind):
    return [inference for inference in pipeline.inferences if inference.kind == kind]


def test_the_history_of_a_pipeline(tmp_path):
    source = "ActionStateKey - pipeline-1 [Source[0]-x]"
    full = an_action(a_name(source), [a_state(0, b"a"), a_state(1, b"b")])
    closed = an_action(a_name(source), [a_state(0, b"a"), 1])
    wider = an_action(a_name(source), [a_state(0, b"a"), 1, 1], parallelism=3)
    save(
        tmp_path,
        {
            "5/100-1-1-2.ser": a_file(2, actions=[full]),
            "5/110-1-1-3.ser": a_file(3, actions=[closed]),
            "5/190-1-1-7.ser": a_file(7, actions=[wider], type=3),
            "5/120-1-1-8.ser": a_file(8, actions=[wider]),
            "5/130-9-1-9.sertmp": b"",
            "5/100-1-2-1.ser": a_file(1, 2),
            "notes.txt": b"hello",
        },
    )
    upload = read_upload(tmp_path, SeaTunnelLimits())
    first, second = upload.pipelines
    assert [(gap.first, gap.last) for gap in first.gaps] == [(4, 6)]
    [shut] = kinds(first, "closed")
    assert (shut.action, shut.subtask, shut.checkpoint) == ("Source[0]-x", 1, 3)
    [changed] = kinds(first, "parallelism")
    assert (changed.checkpoint, changed.inferred) == (7, True)
    assert [inference.checkpoint for inference in kinds(first, "committed")] == [2, 3, 7]
    assert [inference.checkpoint for inference in kinds(first, "not-proven")] == [8]
    [restored] = kinds(first, "restored-next")
    assert (restored.checkpoint, "stopped" in restored.by) == (7, True)
    assert [file.checkpoint.id for file in second.checkpoints] == [1]
    assert {file.path: file.kind for file in upload.files} == {
        "5/100-1-1-2.ser": "checkpoint", "5/110-1-1-3.ser": "checkpoint",
        "5/120-1-1-8.ser": "checkpoint", "5/190-1-1-7.ser": "checkpoint",
        "5/100-1-2-1.ser": "checkpoint", "5/130-9-1-9.sertmp": "unfinished",
        "notes.txt": "unknown",
    }  # fmt: skip
    assert all(file.content.reason for file in upload.files if file.kind != "checkpoint")
    assert upload.notes == ()


def test_a_file_that_contradicts_its_name_is_noted(tmp_path):
    save(
        tmp_path,
        {"6/100-1-1-2.ser": a_file(3), "job.json": json.dumps(A_JOB | {"jobId": 1}).encode()},
    )
    notes = read_upload(tmp_path, SeaTunnelLimits()).notes
    assert ["checkpoint 2" in notes[0], "another job" in notes[1], "job.json" in notes[2]] == [
        True
    ] * 3


def test_an_upload_without_anything_of_seatunnel_is_refused(tmp_path):
    save(tmp_path, {"a.ser": b"\x00\x01", "b.json": b"{}"})
    with pytest.raises(InputRefused, match="cannot be read") as caught:
        read_upload(tmp_path, SeaTunnelLimits())
    assert caught.value.defects[0].code == "unknown-format"


def test_links_are_not_followed_and_sizes_are_bounded(tmp_path):
    save(tmp_path, {"up/1-1-1-7.ser": a_file(), "out/1-1-1-8.ser": a_file(8)})
    (tmp_path / "up" / "2-1-1-8.ser").symlink_to(tmp_path / "out" / "1-1-1-8.ser")
    (tmp_path / "up" / "more").symlink_to(tmp_path / "out")
    assert len(read_upload(tmp_path / "up", SeaTunnelLimits()).files) == 1
    for limits in (SeaTunnelLimits(files=1), SeaTunnelLimits(total_bytes=50)):
        with pytest.raises(InputRefused, match="most that is read"):
            read_upload(tmp_path, limits)


A_JOB = {
    "jobId": "733584788375666689",
    "jobName": "n",
    "jobStatus": "RUNNING",
    "createTime": "2024-05-01 00:00:00",
    "jobDag": {
        "jobId": "733584788375666689",
        "envOptions": {},
        "vertexInfoMap": [
            {"vertexId": 1, "type": "source", "vertexName": "p-1", "tablePaths": ["a.b"]},
            {"vertexId": 2, "type": "sink", "vertexName": "p-2", "tablePaths": []},
        ],
        "pipelineEdges": {"1": [{"inputVertexId": "1", "targetVertexId": "2"}]},
    },
    "isStartWithSavePoint": False,
    "metrics": {"sourceReceivedCount": "12"},
}
LISTED = {
    "checkpointId": 9, "checkpointType": "savepoint", "status": "FAILED", "stateSize": 5,
    "triggerTimestamp": 1000, "failureReason": "CHECKPOINT_EXPIRED",
}  # fmt: skip
CHECKPOINTS = {
    "jobId": "733584788375666689",
    "updatedAt": 2000,
    "pipelines": [
        {
            "pipelineId": 1,
            "counts": {"triggered": 3, "completed": 1, "failed": 1, "inProgress": 1, "restored": 0},
            "latestCompleted": {},
            "latestFailed": LISTED,
            "latestSavepoint": None,
            "inProgress": [{"checkpointId": 10, "acknowledged": 2, "total": 5}],
            "history": [{"pipelineId": 1, "checkpoint": LISTED}],
        }
    ],
}


def test_the_graph_of_a_job():
    for vertices in (
        A_JOB["jobDag"]["vertexInfoMap"],
        dict(enumerate(A_JOB["jobDag"]["vertexInfoMap"])),
    ):
        dag = A_JOB["jobDag"] | {"vertexInfoMap": vertices}
        [job] = rest.read_answer(json.dumps(A_JOB | {"jobDag": dag}).encode()).jobs
        assert (job.id, job.edges) == (733584788375666689, {1: ((1, 2),)})
        assert [(vertex.kind, vertex.tables) for vertex in job.vertices] == [
            ("source", ("a.b",)), ("sink", ()),
        ]  # fmt: skip
    assert len(rest.read_answer(json.dumps([A_JOB, A_JOB]).encode()).jobs) == 2


def test_lists_of_checkpoints():
    answer = rest.read_answer(json.dumps(CHECKPOINTS).encode())
    [pipeline] = answer.pipelines
    assert (answer.job, pipeline.counts["failed"], list(pipeline.latest)) == (
        733584788375666689, 1, ["latestFailed"],
    )  # fmt: skip
    [failed], [pending] = pipeline.history, pipeline.in_progress
    assert (failed.pipeline, failed.failure, failed.bytes) == (1, "CHECKPOINT_EXPIRED", 5)
    assert (pending.id, pending.acknowledged, pending.total) == (10, 2, 5)
    history = rest.read_answer(json.dumps(CHECKPOINTS["pipelines"][0]["history"]).encode())
    assert (history.kind, history.history) == (rest.HISTORY, (failed,))


def test_other_json_is_not_an_answer():
    for value in (1, "x", None, [], {}, [1], {"pipelines": 3}, [{"checkpoint": 1}]):
        assert rest.read_answer(json.dumps(value).encode()) is None


def test_fields_of_wrong_types_are_unknown():
    odd = json.loads(json.dumps(CHECKPOINTS).replace("1000", '{"a": 1}').replace("9", "[]"))
    [pipeline] = rest.read_answer(json.dumps(odd).encode()).pipelines
    assert (pipeline.history[0].triggered_at, pipeline.history[0].id) == (None, None)


def test_damaged_files_are_read_or_malformed(shared_data):
    good = 0
    for data in mutated(list(real_files(shared_data))):
        try:
            read(data)
            good += 1
        except Malformed:
            pass
    assert good


def test_damaged_answers_are_read_or_malformed():
    good = 0
    for data in mutated([json.dumps(A_JOB).encode(), json.dumps(CHECKPOINTS).encode()]):
        with contextlib.suppress(Malformed):
            good += rest.read_answer(data) is not None
    assert good
