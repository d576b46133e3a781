"""Savepoints of real jobs, new jobs, and what a real Flink then did (bench/real_upgrades.py)."""

import json
from functools import cache
from itertools import product
from pathlib import Path

import orjson
import pytest

from snapshots.domain.inventory.upgrade.answer import NOT_KNOWN, RESTORED
from snapshots.domain.inventory.upgrade.own_list import own_list
from snapshots.domain.inventory.upgrade.states import PYTHON
from snapshots.domain.inventory.upgrade.upgrade import answer
from snapshots.readers.engines.flink.new_job import read_new_job
from tests.readers.engines.flink.test_new_job import held

KEPT = Path(__file__).with_name("real_upgrades")
CASES = sorted(path.stem for path in KEPT.glob("*.json"))
DOCUMENT = Path(__file__).parents[4] / "docs/formats/flink.md"
NOT_TOLD = dict.fromkeys(("bytes-same", "bytes-type", "bytes-renamed"), "their type in Python")
NOT_TOLD["hashes-twice"] = "have the same id"  # Flink gave the state back at another start
BACKENDS = {"rocksdb-native": "rocksdb"}
held = cache(held)


def case_of(name):
    return json.loads((KEPT / f"{name}.json").read_text())


def answered(case, description, **options):
    job = read_new_job(orjson.dumps(case[description]), case["backend"], **options)
    return answer(held(KEPT / "savepoints" / case["savepoint"]), job)


def ids_of(case):
    return {operator["operatorId"] for vertex in case["job"] for operator in vertex["operators"]}


def lost(states):
    """The states as the job names them: PyFlink adds to the names of operators."""
    plain = [state.removeprefix("Source: ").replace(PYTHON, "") for state in states]
    pairs = [state.rpartition(".")[::2] for state in plain]
    return sorted(f"{name.partition(',')[0]}.{state}" for name, state in pairs if state[0] != "_")


def words(without, with_):
    return "; ".join(dict.fromkeys((without, with_)))


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_what_flink_then_did(name):
    case = case_of(name)
    found, flink = answered(case, "job"), case["flink"]
    if name in NOT_TOLD:
        assert (found.without_allow, found.with_allow) == (NOT_KNOWN, NOT_KNOWN)
        assert any(NOT_TOLD[name] in sentence for sentence in found.unknown)
        assert set(lost(found.lost_without_allow)) <= set(flink["without_allow"]["lost"])
        return
    assert found.without_allow == flink["without_allow"]["word"]
    assert found.with_allow == flink["with_allow"]["word"]
    if case["savepoint"] != "sql":  # a query is compared by the rows that it prints
        assert lost(found.lost_without_allow) == sorted(flink["without_allow"]["lost"])
        assert lost(found.lost_with_allow) == sorted(flink["with_allow"]["lost"])


@pytest.mark.parametrize("name", CASES)
def test_a_plan_never_says_more_than_flink_did(name):
    case = case_of(name)
    asked = product(("plan", "execution-plan"), {False, case["no_uids"]})
    for description, without_uids in asked:
        found = answered(case, description, without_uids=without_uids)
        for allow in ("without_allow", "with_allow"):
            assert getattr(found, allow) in (NOT_KNOWN, case["flink"][allow]["word"])


@pytest.mark.parametrize("name", [name for name in CASES if case_of(name)["no_uids"]])
def test_generated_ids_are_those_of_flink(name):
    case = case_of(name)
    for description in ("plan", "execution-plan"):
        job = read_new_job(orjson.dumps(case[description]), without_uids=True)
        assert {operator.id for _, operator in job.operators()} == ids_of(case)


@pytest.mark.parametrize("base", ["uids", "no-uids", "sql", "rocksdb-native"])
def test_the_own_list_of_a_savepoint_is_restored(base):
    checkpoint = held(KEPT / "savepoints" / base)
    own = read_new_job(orjson.dumps(own_list(checkpoint)), BACKENDS.get(base, "hashmap"))
    found = answer(checkpoint, own)
    assert (found.without_allow, found.with_allow) == (RESTORED, RESTORED)
    assert not found.notes


def test_enough_cases_are_kept_and_documented():
    text = DOCUMENT.read_text()
    assert len(CASES) >= 12
    for name in CASES:
        case = case_of(name)
        found = answered(case, "job")
        says = words(found.without_allow, found.with_allow)
        did = words(*(case["flink"][allow]["word"] for allow in ("without_allow", "with_allow")))
        assert f"| {case['savepoint']} | {case['changed']} | {says} | {did} |" in text, name
