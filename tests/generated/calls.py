"""Generate calls with schemathesis, and send each of them as everybody.

This file is run by a Python that has schemathesis, and that needs nothing of Cutline:
``python calls.py PLAN.json`` reads what ``__main__`` wrote, and writes what it found beside it.
"""

import collections
import contextlib
import json
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis import HealthCheck
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS as REGISTRY
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import Failure, FailureGroup

warnings.simplefilter("ignore")
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
CHECKS = (
    "not_a_server_error",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
REAL_IN_PATH = 0.9  # share of the numbers in a path that are those of something that is there
REAL_ELSEWHERE = 0.5
SPARED = 0.97  # share of the calls that end things which name nothing, if the role may end it
LONGEST = 250_000  # bytes of an answer that are searched for words
ALL_CHECKED = 20  # refusals of a call with one status that are all checked; of the others some are
AUDIT = "GET /api/operator/audit"  # names what people did it to
ANY_TIME = (400, 408, 413, 429, 431, 503, 507)  # what ``default`` of each call describes
NOWHERE = "http://nowhere.invalid"
AWAY = 1_000_000  # beyond the numbers of all rows


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """Return a body of lines of JSON."""
    lines = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


Prepared = requests.PreparedRequest


class Findings:
    """Counts what happened. ``faults``: one example of each, and how often it came."""

    def __init__(self) -> None:
        self.statuses: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self.by_call: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self.faults: dict[str, dict[str, Any]] = {}

    def fault(self, kind: str, call: str, role: str, detail: str, example: str) -> None:
        key = f"{kind} | {call} | {detail}"[:300]
        found = self.faults.setdefault(key, {"count": 0, "role": role, "example": example[:1500]})
        found["count"] += 1

    def as_json(self) -> dict[str, Any]:
        return {"statuses": self.statuses, "by_call": self.by_call, "faults": self.faults}


class Role:
    """One of those who call.

    Attributes:
        name: the role.
        forbidden: words that no answer to it may hold, in lower case.
        spares: whether it may end things, and so mostly names others.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.name: str = plan["name"]
        self.url: str = plan["url"]
        self.forbidden: list[bytes] = [word.encode() for word in plan["forbidden"]]
        self.spares: bool = plan["spares"]
        cookies = "; ".join(f"{name}={value}" for name, value in plan["cookies"].items())
        self.headers: dict[str, str] = plan["headers"] | ({"Cookie": cookies} if cookies else {})
        self.session = requests.Session()
        self.session.trust_env = False


class Sender:
    """Sends each case as every role."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.roles = [Role(each) for each in plan["roles"]]
        self.pools: dict[str, list[Any]] = plan["pools"]
        self.bodies: dict[str, list[Any]] = plan["bodies"]
        self.findings = Findings()
        self.dice = random.Random(plan["seed"])
        all_checks = {check.__name__: check for check in _registered()}
        self.checks = [all_checks[name] for name in CHECKS]

    def send(self, case: schemathesis.Case) -> None:
        label = case.operation.label
        away = {
            name: value % AWAY + AWAY if isinstance(value, int) else value
            for name, value in (case.path_parameters or {}).items()
        }
        self._make_real(case)
        real = dict(case.path_parameters or {})
        ends = _ends(case)
        requests_by_path: dict[bool, Prepared | None] = {}
        for role in self.roles:
            is_spared = ends and role.spares and self.dice.random() < SPARED
            is_spared |= case.operation.path == "/api/account/tokens/{id}"
            case.path_parameters = away if is_spared else real
            if is_spared not in requests_by_path:
                requests_by_path[is_spared] = _prepared(case)
            if prepared := requests_by_path[is_spared]:
                self._send_as(role, case, label, prepared.copy())

    def _make_real(self, case: schemathesis.Case) -> None:
        case.path_parameters = {
            name: self._real(_pool_of(case, name), value, REAL_IN_PATH)
            for name, value in (case.path_parameters or {}).items()
        }
        if case.query:
            case.query = {
                name: self._real(name, value, REAL_ELSEWHERE) for name, value in case.query.items()
            }
        if case.headers:
            case.headers.pop("Authorization", None)  # a wrong token beside a session is refused
            for name, value in dict(case.headers).items():
                case.headers[name] = self._real(name, value, REAL_IN_PATH)
        known = self.bodies.get(case.operation.label)
        if known and self.dice.random() < REAL_ELSEWHERE:
            body = dict(self.dice.choice(known))
            if isinstance(case.body, dict):
                extra = {k: v for k, v in case.body.items() if self.dice.random() < 0.2}
                body |= extra
            case.body = body
        if isinstance(case.body, dict):
            case.body = {
                name: self._real(name, value, REAL_ELSEWHERE) for name, value in case.body.items()
            }

    def _real(self, pool: str, value: Any, share: float) -> Any:
        if pool in self.pools and self.dice.random() < share:
            return self.dice.choice(self.pools[pool])
        return value

    def _send_as(self, role: Role, case: schemathesis.Case, label: str, prepared: Prepared) -> None:
        prepared.url = role.url + prepared.url.removeprefix(NOWHERE)
        prepared.headers.update(role.headers)
        try:
            response = _answer(role.session, prepared)
        except (requests.exceptions.RequestException, OSError) as error:
            self._fault("no answer", label, role, type(error).__name__, case, str(error))
            return
        self.findings.statuses[role.name][response.status_code] += 1
        self.findings.by_call[label][response.status_code] += 1
        self._search(role, case, label, response)
        documented = case.operation.definition.raw["responses"]
        if str(response.status_code) not in documented and response.status_code not in ANY_TIME:
            self._fault("undocumented status", label, role, str(response.status_code), case, "")
        seen = self.findings.by_call[label][response.status_code]
        if response.status_code < 400 or seen <= ALL_CHECKED or seen % 10 == 0:
            self._check(role, case, label, response)

    def _search(self, role: Role, case: schemathesis.Case, label: str, response: Any) -> None:
        text = response.content[:LONGEST].lower()
        sent = repr((case.path_parameters, case.query, case.body, case.headers)).lower().encode()
        for word in role.forbidden:
            if word in text and word not in sent and label != AUDIT:
                place = text.find(word)
                self._fault(
                    "a word of others", label, role, f"{role.name}: {word.decode()}", case,
                    f"{response.status_code} …{text[max(0, place - 150) : place + 100]!r}",
                )  # fmt: skip

    def _check(self, role: Role, case: schemathesis.Case, label: str, response: Any) -> None:
        try:
            case.validate_response(response, checks=self.checks)
        except FailureGroup as group:
            for each in group.exceptions:
                self._failed(each, role, case, label, response)
        except (Failure, AssertionError) as failure:
            self._failed(failure, role, case, label, response)

    def _failed(
        self, failure: BaseException, role: Role, case: Any, label: str, response: Any
    ) -> None:
        kind = getattr(failure, "title", type(failure).__name__)
        message = str(getattr(failure, "message", failure)).replace("\n", " ")[:160]
        self._fault(
            kind, label, role, f"{response.status_code} {message}", case,
            f"{response.status_code} {response.content[:500]!r}",
        )  # fmt: skip

    def _fault(
        self, kind: str, label: str, role: Role, detail: str, case: Any, example: str
    ) -> None:
        sent = f"{case.method} {case.path_parameters} {case.query} {case.body!r} {case.headers}"
        self.findings.fault(kind, label, role.name, detail, f"{sent[:700]} -> {example}")


def _registered() -> list[Any]:
    load_all_checks()
    return REGISTRY.get_all()


def _answer(session: requests.Session, prepared: Prepared) -> requests.Response:
    """Send a request, again if the server had just closed the idle connection."""
    try:
        return session.send(prepared, timeout=120)
    except requests.exceptions.ConnectionError:
        return session.send(prepared, timeout=120)


def _prepared(case: schemathesis.Case) -> Prepared | None:
    """Return the request of a case, or None if no client can send it."""
    told = case.as_transport_kwargs(base_url=NOWHERE)
    known = ("method", "url", "headers", "params", "data", "json", "files", "cookies")
    try:
        return requests.Request(**{name: told.get(name) for name in known}).prepare()
    except (requests.exceptions.RequestException, ValueError):
        return None


def _pool_of(case: schemathesis.Case, name: str) -> str:
    """Return the name of the pool for a parameter of the path."""
    if name not in ("id", "key"):
        return name
    path: str = case.operation.path
    before = path.split("{" + name + "}", maxsplit=1)[0].rstrip("/").removeprefix("/api/")
    if before == "{kind}":
        return str(case.path_parameters.get("kind"))
    return before


def _ends(case: schemathesis.Case) -> bool:
    """Tell whether the call ends or moves something that later calls need."""
    path: str = case.operation.path
    moving = ("/move", "/hand-over", "/end-sessions", "/close", "/secret", "/ingest", "/cancel")
    is_about_people = "/people/{" in path and case.method == "PATCH"
    return case.method == "DELETE" or path.endswith(moving) or is_about_people


def main() -> None:
    path = Path(sys.argv[1])
    plan = json.loads(path.read_text())
    schema = schemathesis.openapi.from_dict(json.loads(Path(plan["document"]).read_text()))
    sender = Sender(plan)
    operations = [found.ok() for found in schema.get_all_operations()]
    mine = operations[plan["part"] :: plan["parts"]]
    began = time.monotonic()
    for number, operation in enumerate(mine):
        share = plan["calls"] * (number + 1) // len(mine) - plan["calls"] * number // len(mine)
        for place, mode in enumerate(MODES):
            _generate(operation, mode, (share + place) // 2, plan["seed"], sender)
        print(
            f"{number + 1}/{len(mine)} {operation.label} {time.monotonic() - began:.0f} s",
            flush=True,
        )
        path.with_suffix(".found.json").write_text(json.dumps(sender.findings.as_json(), indent=1))


def _generate(operation: Any, mode: Any, count: int, seed: int, sender: Sender) -> None:
    if count == 0:
        return
    sent = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def call(case: schemathesis.Case) -> None:
        nonlocal sent
        sent += 1
        sender.send(case)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # nothing can be wrong in it
        call()
    if sent < count:  # there are fewer different cases; the numbers in them are drawn anew
        _again(operation, count - sent, seed + 1, sender)


def _again(operation: Any, count: int, seed: int, sender: Sender) -> None:
    left = count

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=10 * count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(), again=hypothesis.strategies.integers())
    def call(case: schemathesis.Case, again: int) -> None:
        nonlocal left
        if left > 0:
            left -= 1
            sender.send(case)

    call()


if __name__ == "__main__":
    main()
