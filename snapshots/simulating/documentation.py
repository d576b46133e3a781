"""Write docs/simulation-parameters.md from the declared parameters.

``python -m snapshots.simulating.documentation > docs/simulation-parameters.md``
"""

from collections.abc import Iterator
from typing import Any

import orjson

from snapshots.simulating.dataflows import PROTOCOLS
from snapshots.simulating.parameters import Declared, Parameters
from snapshots.simulating.workload_runs import WorkloadParameters

INTRODUCTION = """\
# Parameters of simulated runs

Which parameters `POST /api/topologies/ID/simulate` and
`manage.py simulate TOPOLOGY PARAMETER=VALUE` take.

`.venv/bin/python -m snapshots.simulating.documentation` prints this page from the models that
check a request.

In `checkpoints.mode`, `mode` is a parameter within the parameter `checkpoints`. `[]` stands for
each item of a list. A parameter that is left out or null has its default, unless null is among its
values. “The paper” is Chandy and Lamport, “Distributed Snapshots”, 1985.
"""
HEAD = "| parameter | default | values | meaning |\n| --- | --- | --- | --- |\n"


def page() -> str:
    """Return the page with a table for each kind of run."""
    sections = [_section("A workload on a topology", WorkloadParameters)]
    for name, model in PROTOCOLS.items():
        title = f"A dataflow with `protocol={name}`: {model.PROTOCOL.title}"
        sections.append(_section(title, model, model.PROTOCOL.sentence))
    return "\n".join([INTRODUCTION, *sections])


def _section(title: str, model: type[Parameters], sentence: str = "") -> str:
    rows = "".join(_row(item) for item in model.declared() if item.path != "protocol")
    return f"## {title}\n\n{sentence}{chr(10) * 2 if sentence else ''}{HEAD}{rows}"


def _row(item: Declared) -> str:
    path = item.path.replace("[0]", "[]")
    values = ", ".join(_values(item))
    return f"| `{path}` | {_default(item)} | {values} | {item.info.description} |\n"


def _default(item: Declared) -> str:
    return "required" if item.info.is_required() else _code(item.default)


def _values(item: Declared) -> Iterator[str]:
    several = {"numbers": "a list: ", "map": "by name: "}.get(item.kind, "")
    if item.bounds:
        unit = f" {item.bounds.unit}" if item.bounds.unit else ""
        yield f"{several}{item.bounds.least:,} to {item.bounds.most:,}{unit}"
    elif item.options:
        yield from (_code(option.name) for option in item.options)
    else:
        yield _KINDS[item.kind]
    if item.takes_null:
        yield "null"


def _code(value: Any) -> str:
    return f"`{orjson.dumps(value).decode()}`"


_KINDS = {
    "flag": "`true`, `false`",
    "text": "a text",
    "texts": "a list of names",
    "map": "by name: a number above 0",
}

if __name__ == "__main__":
    print(page(), end="")  # noqa: T201, its output is the page
