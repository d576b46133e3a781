"""The answer follows from what was found: a witness outweighs what is not known."""

import pytest

from snapshots.domain.inventory.restore_check import (
    MOST_FILES,
    NOT_KNOWN,
    NOT_RESTORABLE,
    RESTORABLE,
    Findings,
    NeededFile,
    check_upload,
    conclude,
    leaving_out,
)


def a_file(path="a", problem=None, uploaded=5):
    return NeededFile(path, "state", "op[0]", 5, uploaded, problem)


def a_check(findings, id=1, *, decides=True):
    return conclude(
        findings, number=0, job="j", id=id, kind="checkpoint", path=f"chk-{id}", decides=decides
    )


def whole():
    findings = Findings()
    findings.need(a_file())
    findings.note("Kryo wrote a value.")
    return findings


def lacking():
    findings = whole()
    findings.doubt("A serializer is not known.")
    findings.need(a_file("b", "It is absent.", uploaded=None))
    return findings


def in_doubt():
    findings = whole()
    findings.need(a_file("c", "It lies elsewhere.", uploaded=None), is_certain=False)
    return findings


@pytest.mark.parametrize(
    ("findings", "answer", "headline"),
    [
        (whole(), RESTORABLE, "Yes: all that a restore reads is there, 5 bytes in 1 file."),
        (lacking(), NOT_RESTORABLE, "No: b: It is absent."),
        (in_doubt(), NOT_KNOWN, "Not known: c: It lies elsewhere."),
        (Findings(), NOT_KNOWN, "Not known: Its files are not in the upload."),
    ],
)
def test_a_witness_outweighs_a_doubt_and_nothing_is_never_enough(findings, answer, headline):
    check = a_check(findings)
    assert (check.answer, check.headline) == (answer, headline)


def test_a_file_keeps_the_problem_that_was_found_first():
    findings = Findings()
    findings.need(a_file(problem="It is cut."))
    findings.need(a_file())
    assert findings.files["a"].problem == "It is cut."
    findings.need(a_file("d"))
    findings.need(a_file("d", problem="It is cut."))
    assert findings.files["d"].problem == "It is cut."
    assert len(findings.witnesses) == 2


def test_files_with_a_problem_come_first_and_the_others_are_counted():
    findings = Findings()
    for number in range(MOST_FILES + 5):
        findings.need(a_file(f"file {number}"))
    findings.need(a_file("last", "It is cut."))
    check = a_check(findings)
    assert check.files[0].path == "last"
    assert (len(check.files), check.files_total) == (MOST_FILES, MOST_FILES + 6)
    assert check.bytes == 5 * (MOST_FILES + 6)


def test_the_worst_answer_of_those_that_decide_counts_for_the_upload():
    checks = [a_check(whole(), 1), a_check(in_doubt(), 2), a_check(lacking(), 3, decides=False)]
    check = check_upload("flink", checks, ())
    assert (check.answer, check.headline) == (
        NOT_KNOWN,
        "Not known: of 2 checkpoints 1 is restorable and 1 is not known.",
    )
    assert [file.path for file in check.absent] == ["c"]
    assert leaving_out(check, {"chk-2"}).answer == RESTORABLE
    assert leaving_out(check, {"chk-1", "chk-2"}).answer == NOT_KNOWN
    assert check_upload("flink", [a_check(lacking(), 3), *checks], ()).answer == NOT_RESTORABLE


def test_an_absent_file_names_all_who_need_it():
    check = check_upload("flink", [a_check(lacking(), 3), a_check(lacking(), 4)], ())
    [file] = check.absent
    assert (file.path, file.bytes, file.checkpoints) == ("b", 5, (3, 4))
    assert check.absent_total == 1
