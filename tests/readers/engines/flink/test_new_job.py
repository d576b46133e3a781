"""Descriptions of a new job, and what a real Flink did with each, held against the answer."""

import json
from collections import Counter
from dataclasses import replace

import orjson
import pytest

from snapshots.domain.inventory.upgrade.answer import NOT_KNOWN, REFUSED
from snapshots.domain.inventory.upgrade.new_job import AUTOMATIC
from snapshots.domain.inventory.upgrade.upgrade import answer
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.new_job import read_new_job, read_new_job_file
from snapshots.readers.engines.flink.operator_ids import id_of_uid

VARIANTS = (
    "identical",
    "uid-renamed",
    "operator-removed",
    "operator-added",
    "no-uids-map-inserted",
    "parallelism-within",
    "parallelism-above-set",
    "max-parallelism-raised",
    "state-renamed",
    "state-type",
    "pojo-field-added",
    "backend-native",
)


def held(folder):
    """The checkpoint in a folder, with its entries counted as the store counts them."""
    upload = FlinkReader().read(folder)
    counts = Counter((entry.operator, entry.state) for entry in upload.entries())
    (checkpoint,) = upload.inventory().checkpoints
    return replace(
        checkpoint,
        operators=tuple(
            replace(
                operator,
                states=tuple(
                    replace(state, entries=counts[operator.id, state.name])
                    for state in operator.states
                ),
            )
            for operator in checkpoint.operators
        ),
    )


@pytest.fixture
def data(shared_data):
    return shared_data / "flink-upgrade"


def case_of(data, variant):
    cases = json.loads((data / "cases.json").read_text())
    return next(case for case in cases if case["variant"] == variant)


def test_every_case_is_compared(data):
    assert {case["variant"] for case in json.loads((data / "cases.json").read_text())} == set(
        VARIANTS
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_answer_is_what_flink_then_did(data, variant):
    case = case_of(data, variant)
    backend = "rocksdb" if variant == "backend-native" else "hashmap"
    job = read_new_job_file(data / variant / "uids.json", backend)
    found = answer(held(data / case["savepoint"]), job)
    assert found.without_allow == case["without_allow"]
    assert found.with_allow == case["with_allow"]
    for lost, expected in (
        (found.lost_without_allow, case["lost_states_without_allow"]),
        (found.lost_with_allow, case["lost_states_with_allow"]),
    ):
        assert sorted(lost) == sorted(expected or [])
    assert bool(found.refusals or found.left_over) == (case["without_allow"] == REFUSED)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_plan_alone_never_says_more_than_flink_did(data, variant):
    case = case_of(data, variant)
    found = answer(held(data / case["savepoint"]), read_new_job_file(data / variant / "plan.json"))
    assert found.without_allow in (NOT_KNOWN, case["without_allow"])
    assert found.with_allow in (NOT_KNOWN, case["with_allow"])


def test_a_list_of_uids_alone():
    job = read_new_job(orjson.dumps([{"uid": "count"}, {"uid": "sum", "max_parallelism": -1}]))
    count, total = job.vertices
    assert count.operators[0].id == id_of_uid("count")
    assert (count.parallelism, count.max_parallelism) == (None, None)
    assert count.operators[0].states is count.operators[0].timers is None
    assert (total.name, total.max_parallelism) == ("sum", AUTOMATIC)


def test_a_job_that_flink_could_not_build_says_why():
    text = "org.a.B: outer\n\tat x\nCaused by: java.lang.IllegalStateException: No operators."
    job = read_new_job(orjson.dumps({"errors": ["Internal server error.", text]}))
    assert job.failure == "java.lang.IllegalStateException: No operators."
    job = read_new_job(orjson.dumps({"error": text}))
    assert job.failure == "java.lang.IllegalStateException: No operators."


def test_an_execution_plan_tells_names_only():
    nodes = [
        {"id": 1, "type": "Source: numbers", "pact": "Data Source", "parallelism": 1},
        {"id": 2, "type": "count", "pact": "Operator", "parallelism": 2},
    ]
    job = read_new_job(orjson.dumps({"nodes": nodes}))
    assert [vertex.name for vertex in job.vertices] == ["Source: numbers", "count"]
    assert [operator.id for _, operator in job.operators()] == [None, None]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], None),
        ([1], "[0]"),
        ([{"uid": 3}], "[0].uid"),
        ([{"name": "x"}], "[0].uid"),
        ([{"operatorId": "zz"}], "[0].operatorId"),
        ([{"uid": "x", "parallelism": 0}], "[0].parallelism"),
        ([{"uid": "x", "parallelism": True}], "[0].parallelism"),
        ([{"uid": "x", "maxParallelism": 2**15 + 1}], "[0].maxParallelism"),
        ([{"operators": []}], "[0].operators"),
        ([{"operators": [{"uid": "x", "states": {}}]}], "[0].operators[0].states"),
        ([{"uid": "x", "states": [{"kind": "keyed value"}]}], "[0].states[0].name"),
        ([{"uid": "x", "states": [{"name": "s", "kind": "blob"}]}], "[0].states[0].kind"),
        ([{"uid": "x", "timers": "user-timers"}], "[0].timers"),
        ([{"uid": "x", "timers": [1]}], "[0].timers"),
        ("text", None),
        ({"nodes": []}, "plan"),
        ({"plan": {"nodes": [{"id": "x"}]}}, "plan.nodes.id"),
    ],
)
def test_a_wrong_description_is_refused_with_its_field(document, field):
    with pytest.raises(InputRefused) as refused:
        read_new_job(orjson.dumps(document))
    assert refused.value.defects[0].field == field


def test_what_is_no_json_is_refused_with_its_line():
    with pytest.raises(InputRefused) as refused:
        read_new_job(b'[\n{"uid": \n')
    assert refused.value.defects[0].line >= 2


def test_too_much_is_refused():
    with pytest.raises(InputRefused, match="larger than 4 MiB"):
        read_new_job(b" " * (4 * 2**20 + 1))


def test_an_unknown_backend_is_refused():
    with pytest.raises(InputRefused, match="hashmap, rocksdb, forst"):
        read_new_job(b"[]", "heap")
