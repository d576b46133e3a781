"""``manage.py check_upgrade``, as other people's CI calls it."""

import json
import shutil

import pytest
from django.core.management import CommandError, call_command


@pytest.fixture
def data(shared_data):
    return shared_data / "flink-upgrade"


def check(capsys, *arguments):
    """(exit code, what it printed, what it complained of)"""
    code = 0
    try:
        call_command("check_upgrade", *map(str, arguments))
    except SystemExit as stopped:
        code = stopped.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_exit_codes_tell_the_outcome(data, capsys):
    base = data / "savepoints/base/canonical"
    code, out, _ = check(capsys, base, data / "identical/uids.json")
    assert (code, out.splitlines()[0]) == (
        0,
        "Yes: Flink starts the new job, and every state comes back.",
    )
    code, out, _ = check(capsys, base, data / "state-renamed/uids.json")
    assert code == 1
    assert "count.count (5 entries)" in out
    renamed = data / "uid-renamed/uids.json"
    assert check(capsys, base, renamed)[0] == 1
    assert check(capsys, base, renamed, "--allow-non-restored-state")[0] == 1
    assert check(capsys, base, data / "identical/plan.json")[0] == 3


def test_the_own_list_is_printed_and_restored(data, capsys, tmp_path):
    base = data / "savepoints/base/canonical"
    code, out, _ = check(capsys, base, "--list")
    assert code == 0
    entry = next(item for item in json.loads(out) if item["uid"] == "account")
    (state,) = (state for state in entry["states"] if state["name"] == "acct")
    assert (state["kind"], state["key"]) == ("keyed value", "string")
    assert "total: long" in state["type"]
    (tmp_path / "own.json").write_text(out)
    code, out, _ = check(capsys, base, tmp_path / "own.json")
    assert (code, out.count("\n")) == (0, 1)
    for arguments in ((base,), (base, tmp_path / "own.json", "--list")):
        with pytest.raises(CommandError, match="either the new job or --list"):
            call_command("check_upgrade", *map(str, arguments))


def test_ids_are_computed_if_somebody_says_that_there_are_no_uids(data, capsys):
    base = data / "savepoints/base-no-uids"
    plan = base / "plan.json"
    code, out, _ = check(capsys, base / "canonical", plan, "--json", "--no-uids")
    fates = {item["name"]: item["fate"] for item in json.loads(out)["operators"]}
    assert (code, set(fates.values())) == (3, {"claimed"})
    changed = data / "no-uids-map-inserted/plan.json"
    code, out, _ = check(capsys, base / "canonical", changed, "--json", "--no-uids")
    assert (code, json.loads(out)["without_allow"]) == (1, "refused")


def test_a_certain_loss_is_exit_code_1_whatever_else_is_not_known(data, capsys, tmp_path):
    (tmp_path / "job.json").write_text(json.dumps([{"uid": "count", "states": []}]))
    base = data / "savepoints/base/canonical"
    options = ("--json", "--allow-non-restored-state")
    code, out, _ = check(capsys, base, tmp_path / "job.json", *options)
    body = json.loads(out)
    assert (code, body["with_allow"]) == (1, "not-known")
    assert "count.count" in body["lost_with_allow"]


def test_a_missing_file_is_exit_code_3_as_it_is_for_a_restore(data, capsys, tmp_path):
    copy = shutil.copytree(data / "savepoints/base-unaligned/chk", tmp_path / "chk-1")
    job = data / "savepoints/base-unaligned/uids.json"
    assert check(capsys, copy, job, "--backend", "hashmap")[0] == 0
    files = [path for path in copy.rglob("*") if path.is_file() and path.name != "_metadata"]
    for path in files:
        content = path.read_bytes()
        for damage in (None, content[: len(content) // 2]):
            path.unlink() if damage is None else path.write_bytes(damage)
            code, out, _ = check(capsys, copy, job, "--backend", "hashmap")
            assert (code, path.name in out) == (3, True), path.name
            code, _ = _restored(capsys, copy)
            assert code == 3, path.name
            path.write_bytes(content)
    assert files


def _restored(capsys, path):
    code = 0
    try:
        call_command("check_restore", str(path), "--parallelism", "2")
    except SystemExit as stopped:
        code = stopped.code
    return code, capsys.readouterr().out


def test_a_backend_is_given_by_name(data, capsys):
    native, job = data / "savepoints/base/native", data / "backend-native/uids.json"
    assert check(capsys, native, job, "--backend", "hashmap")[0] == 0
    assert check(capsys, native, job, "--backend", "rocksdb")[0] == 1


def test_json_has_the_whole_answer(data, capsys):
    base = data / "savepoints/base/canonical"
    code, out, _ = check(capsys, base, data / "uid-renamed/uids.json", "--json")
    body = json.loads(out)
    assert (code, body["without_allow"], body["with_allow"]) == (
        1,
        "refused",
        "started-with-loss",
    )
    account = next(item for item in body["operators"] if item["uid"] == "account")
    assert (account["fate"], account["bytes"]) == ("left over", 6_461)


def test_what_cannot_be_read_is_exit_code_2(data, capsys, tmp_path):
    base = data / "savepoints/base/canonical"
    code, _, err = check(capsys, base, tmp_path / "none.json")
    assert (code, "cannot be read" in err) == (2, True)
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[{}]")
    code, _, err = check(capsys, base, wrong)
    assert (code, "uid" in err) == (2, True)
    with pytest.raises(CommandError, match="holds 5 checkpoints|is no folder"):
        call_command("check_upgrade", str(tmp_path / "none"), str(wrong))
