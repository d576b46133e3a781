"""Uploads: accepted whole or refused with nothing left behind."""

import fcntl
import gzip
import os
import zlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.domain.model.defects import InputRefused, refuse
from snapshots.domain.simulators.samples import two_banks
from snapshots.files import uploads
from snapshots.jobs import opening, running, sweeping
from snapshots.models import Job, Recording
from tests.web.given import a_file, a_person, a_ready_recording, native, uploads_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

ODD_NAME = "two banks/../ “<script>” 🙂.jsonl"


def upload(api, content: bytes, name: str = "log.jsonl", **fields):
    return api.post("/api/recordings", {"file": SimpleUploadedFile(name, content), **fields})


def edited(old: bytes, new: bytes) -> bytes:
    log = native(two_banks())
    assert old in log
    return log.replace(old, new, 1)


def test_an_upload_is_kept_and_queued(api, data_dir):
    answer = upload(api, native(two_banks()))
    assert answer.status_code == 202, answer.content
    recording = Recording.objects.get(pk=answer.json()["id"])
    job = Job.objects.get(pk=answer.json()["job"])
    assert (recording.status, recording.format, recording.name) == ("queued", "native", "log.jsonl")
    assert (job.kind, job.state, job.recording_id) == ("ingest", "queued", recording.pk)
    assert uploads_of(data_dir) == [recording.upload]
    assert uploads.path_of(recording.upload).read_bytes() == native(two_banks())


def test_the_name_of_an_uploaded_file_never_names_a_file_of_the_server(api, data_dir):
    upload(api, native(two_banks()), "../../../etc/passwd")
    [stored] = uploads_of(data_dir)
    assert stored.isalnum()
    assert Recording.objects.get().name == "passwd"


def test_a_name_may_be_odd(api):
    answer = upload(api, native(two_banks()), ODD_NAME)
    assert Recording.objects.get(pk=answer.json()["id"]).name == "“<script>” 🙂.jsonl"


def test_a_name_may_be_given(api):
    api.post("/api/recordings", {"file": a_file(), "name": "Ledger"})
    assert Recording.objects.get().name == "Ledger"


def test_several_files_are_several_recordings(api, data_dir):
    answer = api.post("/api/recordings", {"file": [a_file(), a_file(name="b.jsonl")]})
    assert answer.status_code == 202
    assert len(answer.json()["recordings"]) == Recording.objects.count() == 2
    assert len(uploads_of(data_dir)) == 2


def test_one_refused_file_of_several_refuses_all(api, data_dir):
    answer = api.post("/api/recordings", {"file": [a_file(), a_file(b"{}\n", "b.jsonl")]})
    assert answer.status_code == 422
    assert answer.json()["file"] == "b.jsonl"
    assert not Recording.objects.exists()
    assert not uploads_of(data_dir)


REFUSED = {
    "empty": (b"", "empty", None),
    "not UTF-8": (b'{"kind":"header","name":"\xff"}\n', "not-utf8", 1),
    "truncated gzip": (gzip.compress(native(two_banks()))[:-20], "truncated", None),
    "no header": (native(two_banks()).split(b"\n", 1)[1], "header-missing", 1),
    "header twice": (native(two_banks()) * 2, "header-twice", len(two_banks().events) + 2),
    "unknown process": (edited(b'"process":"B"', b'"process":"Z"'), "unknown-process", 3),
    "unknown channel": (edited(b'"channel":"A->B"', b'"channel":"A->Z"'), "unknown-channel", 4),
    "wrong type": (edited(b'"at":400', b'"at":"noon"'), "wrong-type", 2),
    "beyond 64 bits": (edited(b'"at":400', b'"at":9223372036854775808'), "number-range", 2),
    "NaN": (edited(b'"state":9000', b'"state":NaN'), None, 4),
    "index twice": (
        native(two_banks()).replace(b'"process":"A",', b'"process":"A","index":0,'),
        "index-twice",
        None,
    ),
    "something else": (b"hello\nworld\n", "unknown-format", 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_input_is_refused_with_its_line_and_leaves_nothing(api, data_dir, case):
    content, code, line = REFUSED[case]
    answer = upload(api, content)
    assert 400 <= answer.status_code < 500, answer.content
    problem = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert code is None or problem["type"] == f"/problems/{code}", problem
    assert line is None or problem["line"] == line, problem
    assert problem["detail"]
    assert not Recording.objects.exists()
    assert not Job.objects.exists()
    assert not uploads_of(data_dir)


def test_a_gzip_bomb_is_refused_while_it_is_read(api, settings, data_dir):
    settings.MAX_RECORDING_BYTES = 1_000_000
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(native(two_banks()))
    bomb = head + b"".join(packer.compress(b" " * 1_000_000) for _ in range(10)) + packer.flush()
    answer = upload(api, bomb)
    assert answer.status_code in (413, 422)
    assert not uploads_of(data_dir)


def test_a_file_above_the_limit_is_refused_and_leaves_nothing(api, settings, data_dir):
    settings.MAX_UPLOAD_BYTES = 1000
    answer = upload(api, native(two_banks()) + b" " * 100_000)
    assert answer.status_code == 413
    assert answer.json()["limit"] == 1000
    assert not uploads_of(data_dir)


def test_an_unknown_format_is_refused_with_its_field(api, data_dir):
    answer = upload(api, native(two_banks()), format="avro")
    assert answer.status_code == 422
    assert answer.json()["field"] == "format"
    assert not uploads_of(data_dir)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data"),
        (b"nonsense", "multipart/form-data; boundary=x"),
        (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x"),
        (b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n{"kind":"he',
         "multipart/form-data; boundary=x"),
        (b"{}", "application/json"),
        (b"file=abc", "application/x-www-form-urlencoded"),
    ],
)  # fmt: skip
def test_a_request_without_a_whole_file_is_refused(api, data_dir, body, kind):
    answer = api.generic("POST", "/api/recordings", body, content_type=kind)
    assert answer.status_code in (400, 422), answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not uploads_of(data_dir)


def test_a_failing_transaction_leaves_no_file(data_dir, monkeypatch):
    from snapshots.services import recordings

    def broken(*args, **fields):
        raise RuntimeError("the database went away")

    monkeypatch.setattr(recordings, "create_job", broken)
    path = data_dir / "log.jsonl"
    path.write_bytes(native(two_banks()))
    with pytest.raises(RuntimeError):
        recordings.accept_file(a_person(), path)
    assert not uploads_of(data_dir)
    assert not Recording.objects.exists()


def test_the_sweep_removes_files_that_no_row_names_and_no_process_writes(data_dir):
    kept = a_ready_recording(a_person(), upload="kept")
    uploads.path_of("kept").write_bytes(b"x")
    uploads.path_of("orphan").write_bytes(b"x")
    with uploads.Draft() as draft:
        draft.write(b"half")
        running.remove_leftovers()
        assert uploads_of(data_dir) == sorted([kept.upload, draft.path.name])
    assert uploads_of(data_dir) == [kept.upload]
    assert [entry.was for entry in sweeping.all_aside()] == ["orphan"]


def test_a_draft_that_a_sweep_removed_before_its_lock_is_made_again(data_dir, monkeypatch):
    lock = fcntl.flock
    swept = []

    def swept_first(file, operation):
        if operation == fcntl.LOCK_EX and not swept:
            swept.append(file)
            running.remove_leftovers()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", swept_first)
    with uploads.Draft() as draft:
        draft.write(b"whole")
        draft.keep()
        running.remove_leftovers()
        assert draft.path.read_bytes() == b"whole"
        assert uploads_of(data_dir) == [draft.name]
    assert swept


def test_the_lock_on_a_draft_ends_with_its_writer(data_dir):
    """The file of a writer in another process can be swept as soon as that is killed."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        draft = uploads.Draft()
        os.write(write_end, draft.name.encode())
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    name = os.read(read_end, 64).decode()
    assert uploads_of(data_dir) == [f"{uploads.UNFINISHED}{name}"]
    running.remove_leftovers()
    assert not uploads_of(data_dir)


def test_a_draft_in_use_is_locked(data_dir):
    with uploads.Draft() as draft, draft.path.open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_sweep_removes_folders_of_runs_that_are_over(data_dir):
    kept = a_ready_recording(a_person())
    for name in ("j77-1", "j77-2.tmp-0123", "not-ours"):
        (data_dir / "store" / name).mkdir()
    running.remove_leftovers()
    left = sorted(path.name for path in (data_dir / "store").iterdir())
    assert left == sorted([kept.store, "aside", "not-ours"])
    assert [entry.was for entry in sweeping.all_aside()] == ["j77-1"]


def test_a_line_that_only_the_worker_refuses_is_shown(api, data_dir):
    body = upload(api, native(two_banks())).json()
    recording = Recording.objects.get(pk=body["id"])
    unfit = refuse("not-json", "It does not fit.", line=2)
    with pytest.raises(InputRefused) as caught, opening.opened(recording, "run", print):
        raise unfit
    line = native(two_banks()).splitlines()[1].decode()
    assert caught.value.members == {"excerpt": line}


def test_an_execution_may_have_a_long_name(api):
    name = "the execution of " + "a long name " * 20
    events = "".join(f'event of {name}\nhost {{"host":{n}}}\n' for n in (1, 2))
    log = "(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})\n^=== (?<trace>.*) ===$\n"
    log += f"=== {name} ===\n{events}=== other ===\n{events}"
    answer = upload(api, log.encode(), "log.log", format=f"shiviz:{name}")
    assert answer.status_code == 202, answer.content
    assert Recording.objects.get(pk=answer.json()["id"]).format == f"shiviz:{name}"
