"""``manage.py check_snapshots``, as other people's CI calls it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.readers.inputs import HEADER, RECEIVE, SEND, source, text
from tests.readers.logs.test_vector_timestamps import FILES
from tests.stack import ROOT

RECORDS = [
    {"process": "A", "kind": "record_state", "snapshot": 1, "at": 6, "state": {"balance": 9000}},
    {"process": "B", "kind": "record_state", "snapshot": 1, "at": 7, "state": {"balance": 5000}},
]


def without_index(event):
    return {name: value for name, value in event.items() if name != "index"}


def log(*events):
    return text(HEADER, *(without_index(event) for event in events))


CONSISTENT = log(SEND, *RECORDS, RECEIVE)
ORPHAN = log(
    RECORDS[0], SEND | {"at": 6}, RECEIVE, RECORDS[1] | {"at": 9, "state": {"balance": 6000}}
)


def check(capsys, path, *options):
    """Return the exit code, and what it printed to standard output and standard error."""
    code = 0
    try:
        call_command("check_snapshots", str(path), *options)
    except SystemExit as stopped:
        code = stopped.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_consistent_snapshot_is_a_row_and_exit_code_0(tmp_path, capsys):
    code, out, err = check(capsys, source(tmp_path, CONSISTENT))
    assert (code, err) == (0, "")
    heading, row, *answers = out.splitlines()
    assert heading.split() == [
        "snapshot",
        "verdict",
        "processes",
        "in",
        "flight",
        "began",
        "duration",
    ]
    assert row.split() == ["1", "consistent", "2/2", "1", "6", "us", "1", "us"]
    assert [line.split(":")[0].strip() for line in answers if not line.startswith("    ")] == [
        "cut holds",
        "channels is not known",
        "states holds",
        "rule is not known",
    ]


def test_an_orphan_is_named_and_exit_code_1(tmp_path, capsys):
    code, out, _ = check(capsys, source(tmp_path, ORPHAN))
    assert code == 1
    assert "orphan: " in out
    assert "m1" in out


def test_json_holds_the_summaries_of_the_api(tmp_path, capsys):
    code, out, _ = check(capsys, source(tmp_path, ORPHAN), "--json")
    document = json.loads(out)
    assert (code, document["consistent"], document["refused"]) == (1, False, False)
    [snapshot] = document["snapshots"]
    assert (snapshot["snapshot"], snapshot["verdict"]) == ("1", "orphan")
    assert snapshot["verdicts"][0]["message"] == "m1"


def test_defects_that_are_kept_are_listed_and_do_not_change_the_exit_code(tmp_path, capsys):
    path = source(tmp_path, CONSISTENT + text({"process": "A", "kind": "snooze"}))
    code, out, _ = check(capsys, path)
    assert code == 0
    assert "1 defect in the input:" in out
    assert "unknown-kind: Line 6: " in out


def test_the_line_that_is_refused_is_printed(tmp_path, capsys):
    path = source(tmp_path, CONSISTENT + b"{'process':'A'}\n")
    code, _, complaint = check(capsys, path)
    assert code == 2
    assert "Line 6: {'process':'A'}" in complaint


def test_many_defects_are_counted_where_they_are_not_listed(tmp_path, capsys):
    strays = [
        {"process": "B", "kind": "receive", "channel": "A->B", "message": n} for n in range(30)
    ]
    _, out, _ = check(capsys, source(tmp_path, text(HEADER, *strays)))
    assert "30 defects in the input:" in out
    assert out.count("stray-receive") == 20
    assert "and 10 more" in out


def test_a_log_without_a_snapshot_says_so(tmp_path, capsys):
    code, out, _ = check(capsys, source(tmp_path, log(SEND)))
    assert code == 0
    assert "no snapshot" in out


def test_an_invalid_input_is_exit_code_2_with_line_and_code(tmp_path, capsys):
    code, out, err = check(capsys, source(tmp_path, log(SEND | {"at": -4})))
    assert (code, out) == (2, "")
    assert "number-range: Line 2: " in err
    code, out, _ = check(capsys, source(tmp_path, log(SEND | {"at": -4})), "--json")
    assert code == 2
    assert json.loads(out)["defects"][0]["field"] == "at"


def test_a_missing_file_is_exit_code_2(tmp_path, capsys):
    code, _, err = check(capsys, tmp_path / "nowhere.jsonl")
    assert code == 2
    assert "No such file" in err


@pytest.mark.parametrize("kind", ["zip", "tar", "_metadata", "folder"])
def test_what_is_no_log_is_refused_with_the_command_that_reads_it(
    tmp_path, capsys, shared_data, kind
):
    found = shared_data / "flink" / "bank-aligned"
    if kind in ("zip", "tar"):
        found = Path(shutil.make_archive(str(tmp_path / "all"), kind, found))
    elif kind == "_metadata":
        found = next(found.rglob("_metadata"))
    code, out, err = check(capsys, found)
    assert (code, out) == (2, "")
    assert f"python manage.py ingest {found}" in err


def test_the_format_can_be_forced(tmp_path, capsys):
    code, _, err = check(capsys, source(tmp_path, CONSISTENT), "--format", "cos418")
    assert code == 2
    assert "header-invalid" in err


@pytest.mark.slow
@pytest.mark.parametrize(("data", "code"), [(CONSISTENT, 0), (ORPHAN, 1), (b"", 2)])
def test_the_shell_sees_the_exit_code_without_database_redis_or_spark(tmp_path, data, code):
    command = [sys.executable, "manage.py", "check_snapshots", str(source(tmp_path, data))]
    nowhere = {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SPARK_REMOTE": "sc://127.0.0.1:1",
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
    }
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | nowhere, capture_output=True, text=True
    )
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr


def test_a_folder_with_a_log_for_each_process_is_one_log(tmp_path, capsys):
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, data in {**FILES, "net.txt": b"3 nodes\n"}.items():
        (folder / name).write_bytes(data)
    code, out, _ = check(capsys, folder)
    assert code == 1
    assert "orphan: " in out
    (folder / "net-2.out").unlink()
    code, _, err = check(capsys, folder)
    assert (code, "Upload all files together" in err) == (2, True)
