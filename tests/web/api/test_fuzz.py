"""Whatever a client sends, no answer is a 500, and every refusal is a problem."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapshots.web.api import api as the_api
from tests.effort import examples
from tests.web.given import a_client, a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir"), pytest.mark.slow]

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.sampled_from([0, -1, 2**31, 2**63 - 1, 2**63])
)
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["A", "B", "A->B", "s1", "\0", "..", "a/b", "'", "%00", "nan", "\ud800"]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
FIELDS = {
    "cuts": ["positions", "at", "step"],
    "simulate": [
        "workload",
        "algorithm",
        "seed",
        "events",
        "initiators",
        "snapshot_times",
        "snapshots",
        "mean_delay",
        "collect",
        "reorder",
        "stuck",
        "silent",
        "checkpoints",
        "slow",
        "failures",
    ],
    "predicates": ["expression"],
    "properties": ["expression", "snapshot"],
    "topologies": ["name", "processes", "channels", "layout", "dataflow"],
}
PROCESSES = st.lists(st.one_of(TEXTS, st.fixed_dictionaries({"id": VALUES})), max_size=3)


def bodies(path: str):
    """Generate bodies, mostly with the fields of the call, and other values."""
    names = next((names for end, names in FIELDS.items() if path.endswith(end)), ["name"])
    some = st.dictionaries(st.sampled_from(names), VALUES, min_size=1, max_size=3)
    topology = st.fixed_dictionaries(
        {"processes": PROCESSES}, optional={"name": VALUES, "channels": VALUES, "layout": VALUES}
    )
    return st.one_of(some, some, topology if "processes" in names else some, VALUES)


CALLS = [
    (method, path)
    for path, methods in the_api.get_openapi_schema()["paths"].items()
    for method in methods
]


def raw(body: object) -> bytes:
    return json.dumps(body).encode("utf-8", "surrogatepass")


def check(answer) -> None:
    assert answer.status_code < 500, answer.content
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json", answer.content
        if answer.request["REQUEST_METHOD"] != "HEAD":  # which has no body
            assert answer.json()["detail"]


@pytest.mark.parametrize("requests", [5, pytest.param(75, marks=pytest.mark.long)])
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_no_request_gets_a_500(ada, method, path, requests):
    recording = a_ready_recording(ada)
    client = a_client(ada)

    @settings(
        max_examples=examples(requests),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        st.data(),
        st.one_of(bodies(path).map(raw), bodies(path).map(raw), st.binary(max_size=30)),
        st.dictionaries(
            st.sampled_from(["from", "to", "width", "axis", "limit", "offset", "q", "status"]),
            st.one_of(NUMBERS, TEXTS).map(str),
            max_size=3,
        ),
        st.sampled_from(["application/json"] * 3 + ["multipart/form-data; boundary=x", ""]),
    )
    def any_request(data, body, query, kind):
        address = filled(path, recording.pk, data)
        check(
            client.generic(
                method.upper(),
                address,
                body if method != "get" else b"",
                content_type=kind,
                query_params={key: fit(value) for key, value in query.items()},
            )
        )

    any_request()


def filled(path: str, recording: int, data) -> str:
    """Fill the parameters of a path, mostly with ids that exist, and with ids that cannot exist."""
    ids = st.sampled_from([recording, recording, 0, 2**63, 10**30])
    address = path.replace("{id}", str(data.draw(ids)))
    address = address.replace("{index}", str(data.draw(st.sampled_from([0, 1, 10**6, 10**25]))))
    for name in ("{snapshot}", "{process}", "{checkpoint}"):
        address = address.replace(name, fit(data.draw(st.one_of(TEXTS, st.just("s1")))) or "x")
    return address.replace("?", "%3F").replace("#", "%23")


def fit(text: str) -> str:
    """Return a text that a client can send."""
    return text.encode("utf-8", "replace").decode()
