"""The declared parameters of simulated runs, and what follows from them."""

import pytest
from django.conf import settings
from pydantic import TypeAdapter

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.problems import Refused
from snapshots.simulating import documentation
from snapshots.simulating.dataflows import PROTOCOLS
from snapshots.simulating.simulations import PARAMETERS
from tests.web.api.test_dataflows import WORDS

WORDS_DATAFLOW = Dataflow.from_json(WORDS)
MAPPED = [{**vertex, "function": "map", "parallelism": 1} for vertex in WORDS["vertices"]]
STATELESS_DATAFLOW = Dataflow.from_json({**WORDS, "vertices": MAPPED})
"""A dataflow that every protocol takes, continuous mode, too."""
DECLARED = [(model, item) for model in PARAMETERS for item in model.declared()]


def named(value: object) -> str | None:
    return value.__name__ if isinstance(value, type) else getattr(value, "path", None)


def test_the_page_of_parameters_is_up_to_date():
    written = (settings.BASE_DIR / "docs" / "simulation-parameters.md").read_text()
    assert written == documentation.page(), (
        "Write it again: python -m snapshots.simulating.documentation > "
        "docs/simulation-parameters.md"
    )


@pytest.mark.parametrize(("model", "item"), DECLARED, ids=named)
def test_each_parameter_says_in_sentences_what_it_does(model, item):
    assert item.info.title
    assert item.info.description.endswith(".")
    assert " " in item.info.description


def asked(path: str, value: object) -> dict:
    """Return a request in which only the parameter at this path has a value."""
    outer, dot, inner = path.partition(".")
    return {outer: {inner: value}} if dot else {outer: value}


WHOLE = [
    (model, item)
    for model in PROTOCOLS.values()
    for item in model.declared()
    if item.kind == "number" and "[" not in item.path and not item.path.startswith("start_from")
]


@pytest.mark.parametrize(("model", "item"), WHOLE, ids=named)
def test_only_values_within_the_bounds_are_accepted_and_the_simulator_runs_with_them(model, item):
    for value in (item.bounds.least, item.bounds.most):
        parameters = model.checked(asked(item.path, value), STATELESS_DATAFLOW)
        parameters._simulation(STATELESS_DATAFLOW)
    for value in (item.bounds.least - 1, item.bounds.most + 1, True, "5", 1.0):
        with pytest.raises(Refused) as refused:
            model.checked(asked(item.path, value), WORDS_DATAFLOW)
        assert refused.value.members["field"] == item.path
        assert f"from {item.bounds.least:,} to {item.bounds.most:,}" in refused.value.detail


@pytest.mark.parametrize(("model", "item"), DECLARED, ids=named)
def test_null_means_the_default_unless_it_is_a_value_itself(model, item):
    if "[" in item.path or item.path.startswith("start_from") or item.takes_null:
        return
    assert model.model_validate(asked(item.path, None)) == model.model_validate({})


@pytest.mark.parametrize("model", PROTOCOLS.values(), ids=named)
def test_stored_parameters_are_read_back_and_newer_ones_have_their_defaults(model):
    parameters = model.checked({"seed": 7, "slow": {"count[1]": 2.5}}, WORDS_DATAFLOW)
    stored = {**parameters.stored(), "topology": {}, "recognised": "simulated"}
    assert model.read(stored, WORDS_DATAFLOW) == parameters
    del stored["control_delay"], stored["failures"]
    assert model.read(stored, WORDS_DATAFLOW) == parameters


def test_the_schema_of_a_choice_names_and_describes_its_options():
    schema = TypeAdapter(PROTOCOLS["flink"]).json_schema()
    mode = schema["$defs"]["FlinkCheckpoints"]["properties"]["mode"]
    assert "unaligned" in mode["enum"]
    assert [option["const"] for option in mode["oneOf"]] == mode["enum"]
    assert all(option["description"] for option in mode["oneOf"])
