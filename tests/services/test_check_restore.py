"""``manage.py check_restore``, as other people's CI calls it."""

import json
import shutil
import zipfile

import pytest
from django.core.management import CommandError, call_command


@pytest.fixture
def savepoint(shared_data):
    return shared_data / "flink-upgrade/savepoints/base/canonical"


def check(capsys, *arguments):
    """(exit code, what it printed, what it complained of)"""
    code = 0
    try:
        call_command("check_restore", *map(str, arguments))
    except SystemExit as stopped:
        code = stopped.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_exit_codes_tell_the_answer(savepoint, shared_data, capsys, tmp_path):
    code, out, _ = check(capsys, savepoint, "--parallelism", 4)
    assert (code, out.splitlines()[0]) == (0, "Yes: Flink restores savepoint 2 with 4 subtasks.")
    code, out, _ = check(capsys, savepoint, "--parallelism", 9)
    assert code == 1
    assert "a maximum parallelism of 8, which the checkpoint fixes" in out.splitlines()[0]
    part = tmp_path / "part"
    shutil.copytree(shared_data / "flink/bank-aligned/files", part)
    next(path for path in sorted(part.glob("*/chk-3/*")) if path.name != "_metadata").unlink()
    code, out, _ = check(capsys, part, "--parallelism", 2)
    assert code == 3
    assert out.startswith("Not known: 1 file that it needs is not in the upload")
    assert check(capsys, part, "--parallelism", 2, "--checkpoint", 2)[0] == 0


def test_an_operator_is_left_out_by_its_uid_and_its_state_is_named(savepoint, capsys):
    code, out, _ = check(capsys, savepoint, "--parallelism", 2, "--without", "account")
    assert (code, out.splitlines()[0]) == (
        0,
        "Yes, with allowNonRestoredState: Flink restores savepoint 2 with 2 subtasks, and throws "
        "away the state of account.",
    )
    assert "The state of account of 6,461 bytes is thrown away: history and acct, 10 entr" in out
    kept = [item for name in ("Source: numbers", "ring") for item in ("--keep", name)]
    assert "(2 operators as before)" in check(capsys, savepoint, "--parallelism", 4, *kept)[1]


def test_json_has_the_whole_answer(savepoint, capsys):
    code, out, _ = check(capsys, savepoint, "--parallelism", 9, "--json")
    body = json.loads(out)
    assert (code, body["answer"]) == (1, "no")
    [answer] = body["checkpoints"]
    assert (answer["checkpoint"], answer["parallelism"]) == (2, 9)
    assert answer["headline"].startswith("No: ")


def test_packages_of_all_engines_are_read(shared_data, capsys, tmp_path):
    query = shared_data / "spark-streaming/window-agg-hdfs.zip"
    code, out, _ = check(capsys, query, "--parallelism", 4)
    assert code == 1
    assert "the query is tied to 2 partitions (offsets/11 says" in out
    (older,) = (line for line in out.splitlines() if line.startswith("  batch 10, whole: no"))
    assert "the query is tied to 2 partitions (offsets/10 says" in older
    assert "The range of batch 11 is read again: 0 records." in older
    assert check(capsys, query, "--parallelism", 2)[0] == 0
    pipelines = shared_data / "seatunnel/synthetic-two-pipelines-idle-reader.zip"
    code, out, _ = check(capsys, pipelines, "--parallelism", 3)
    assert (code, out.count("Yes: SeaTunnel restores checkpoint")) == (0, 2)
    packed = tmp_path / "one.zip"
    case = shared_data / "flink/bank-unaligned"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(case.rglob("*")):
            archive.write(path, path.relative_to(case))
    code, out, _ = check(capsys, packed, "--parallelism", 3)
    assert (code, "on exchanges (HASH) that Flink can divide" in out) == (0, True)
    assert "2,483 records read before checkpoint 2 are read again" in out


def test_what_cannot_be_read_is_exit_code_2(savepoint, capsys, tmp_path):
    code, _, err = check(capsys, tmp_path / "none", "--parallelism", 2)
    assert (code, "cannot be read" in err) == (2, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert check(capsys, empty, "--parallelism", 2)[0] == 2
    log = tmp_path / "log.jsonl"
    log.write_text("{}\n")
    code, _, err = check(capsys, log, "--parallelism", 2)
    assert (code, "no checkpoint of an engine" in err) == (2, True)
    code, _, err = check(capsys, savepoint, "--parallelism", 2, "--checkpoint", 99)
    assert (code, "has no such checkpoint" in err) == (2, True)
    code, _, err = check(capsys, savepoint, "--parallelism", 2, "--without", "nobody")
    assert (code, "no operator with the id, uid or name nobody" in err) == (2, True)
    code, _, err = check(capsys, savepoint, "--parallelism", 99_999)
    assert (code, "lies between 1 and 32,768" in err) == (2, True)
    with pytest.raises(CommandError, match="is no number of subtasks"):
        call_command("check_restore", str(savepoint), "--parallelism", "-1")
