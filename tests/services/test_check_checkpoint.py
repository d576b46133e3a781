"""``manage.py check_checkpoint``, as other people's CI calls it."""

import json
import os
import shutil
import time
import zipfile

import pytest
from django.core.management import CommandError, call_command

from tests.readers.logs.test_documents import a_span, a_trace

DAY = 86_400
TRACE = a_trace("a", "shop", a_span("02", 2_000, "producer"))


def check(capsys, *arguments):
    """(exit code, what it printed, what it complained of)"""
    code = 0
    try:
        call_command("check_checkpoint", *map(str, arguments))
    except SystemExit as stopped:
        code = stopped.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def job(shared_data, tmp_path):
    """The folder of a job with incremental checkpoints."""
    root = shared_data / "flink" / "rocksdb-incremental" / "files"
    return next(shutil.copytree(root, tmp_path / "root").glob("?" * 32))


def test_exit_codes_tell_the_answer(job, capsys):
    code, out, _ = check(capsys, job.parent)
    assert (code, out.splitlines()[0]) == (0, "Yes: all 4 checkpoints are restorable.")
    assert check(capsys, job)[0] == 0
    last = next(job.glob("chk-4/_metadata"))
    content = last.read_bytes()
    last.write_bytes(content[:-1])
    code, out, _ = check(capsys, job.parent)
    assert (code, out.splitlines()[0]) == (
        1,
        "No: of 4 checkpoints 3 are restorable and 1 is not restorable.",
    )
    assert "the properties of the checkpoint, are cut off or damaged." in out
    last.unlink()
    code, out, _ = check(capsys, job.parent)
    assert code == 1
    assert "There is no _metadata in the folder" in out


def test_what_lies_elsewhere_is_not_known(job, capsys):
    code, out, _ = check(capsys, job / "chk-3")
    assert (code, out.splitlines()[0][:10]) == (3, "Not known:")
    assert "It lies outside of what was given" in out
    shared = next((job / "shared").iterdir())
    shared.unlink()
    code, out, _ = check(capsys, job.parent)
    assert (code, f"shared/{shared.name}" in out) == (1, True)


def test_only_old_files_are_called_left_over(job, capsys):
    old, young = job / "shared" / "old", job / "shared" / "young"
    for file in (old, young):
        file.write_bytes(b"123")
    os.utime(old, (time.time() - 8 * DAY,) * 2)
    code, out, _ = check(capsys, job.parent)
    assert code == 0
    assert "2 files, 6 bytes; nothing was deleted." in out
    code, out, _ = check(capsys, job.parent, "--older-than", "7d")
    assert code == 0
    assert "shared/old  3 bytes, 8.0 days old" in out
    assert "shared/young" not in out
    assert "1 file may belong to a checkpoint under way: too young." in out
    assert old.exists()
    with pytest.raises(CommandError, match="is no age"):
        call_command("check_checkpoint", str(job), "--older-than", "a week")


def test_a_folder_without_metadata_may_be_under_way(job, capsys):
    (job / "chk-5").mkdir()
    (job / "chk-5" / "part").write_bytes(b"123")
    assert check(capsys, job.parent)[0] == 1
    code, out, _ = check(capsys, job.parent, "--older-than", "1h")
    assert (code, "under way: 5: not restorable" in out) == (0, True)
    for path in (job / "chk-5" / "part", job / "chk-5"):
        os.utime(path, (time.time() - DAY,) * 2)
    assert check(capsys, job.parent, "--older-than", "1h")[0] == 1


def test_a_package_is_read_as_a_folder_is(shared_data, capsys):
    case = shared_data / "spark-streaming" / "damaged-missing-delta.zip"
    code, out, _ = check(capsys, case)
    assert code == 0
    assert "a start after 2 to 10: not restorable" in out
    assert check(capsys, shared_data / "spark-streaming" / "damaged-empty-commit.zip")[0] == 1
    assert check(capsys, shared_data / "spark-streaming" / "damaged-no-schema.zip")[0] == 3
    code, out, _ = check(capsys, shared_data / "seatunnel" / "synthetic-fake-to-localfile.zip")
    assert (code, "It is the checkpoint of one pipeline." in out) == (0, True)


def test_json_has_the_whole_answer(job, capsys):
    code, out, _ = check(capsys, job.parent, "--json")
    body = json.loads(out)
    assert (code, body["engine"], body["answer"]) == (0, "flink", "restorable")
    files = body["checks"][-1]["files"]
    assert {"path", "role", "users", "bytes", "uploaded", "problem"} == set(files[0])
    assert all(file["bytes"] in (None, file["uploaded"]) for file in files)


def test_what_cannot_be_used_is_exit_code_2(shared_data, capsys, tmp_path):
    code, _, err = check(capsys, tmp_path / "none")
    assert (code, "cannot be read" in err) == (2, True)
    with pytest.raises(CommandError, match="holds no file") as refused:
        call_command("check_checkpoint", str(tmp_path))
    assert refused.value.returncode == 2
    (tmp_path / "notes.txt").write_text("no checkpoint")
    with pytest.raises(CommandError, match="is no checkpoint") as refused:
        call_command("check_checkpoint", str(tmp_path))
    assert refused.value.returncode == 2
    (tmp_path / "more.txt").write_text("no checkpoint")
    with pytest.raises(CommandError, match="2 files are no checkpoint") as refused:
        call_command("check_checkpoint", str(tmp_path))
    assert refused.value.returncode == 2
    with zipfile.ZipFile(tmp_path / "cut.zip", "w") as package:
        package.writestr("chk-1/_metadata", b"12345")
    code, _, err = check(capsys, tmp_path / "cut.zip")
    assert code == 2


def test_a_folder_of_others_is_named_with_the_way_that_works(tmp_path, capsys):
    (tmp_path / "0_1" / "rocksdb").mkdir(parents=True)
    (tmp_path / "0_1" / ".checkpoint").write_text("0\n0\n")
    (tmp_path / "0_1" / "rocksdb" / "CURRENT").write_text("MANIFEST-000004\n")
    with pytest.raises(CommandError) as refused:
        check(capsys, tmp_path)
    assert refused.value.returncode == 2
    assert "a state directory of Kafka Streams" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (
            "a.log",
            'x\na {"a":1}\n',
            "a.log is a log (ShiViz or GoVector log) and no checkpoint. “py",
        ),
        (
            "j.json",
            json.dumps({"data": [TRACE], "errors": None}),
            "j.json is a log (Jaeger JSON) and no checkpoint.",
        ),
        ("t.json", '{"resourceSpans": []}', "This is OpenTelemetry data (OTLP)."),
        ("n.txt", "hello\n", "n.txt is no checkpoint of an engine known here."),
    ],
)
def test_a_file_that_is_no_checkpoint_is_named(tmp_path, name, data, said):
    (tmp_path / name).write_text(data)
    with pytest.raises(CommandError) as caught:
        call_command("check_checkpoint", str(tmp_path / name))
    assert str(caught.value).startswith(said)
