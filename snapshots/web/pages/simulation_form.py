"""The form of a simulation: its fields with what was typed, and what was typed as parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict


@dataclass(frozen=True)
class Choice:
    """A workload or an algorithm: its name in the API, and what it does in a sentence."""

    name: str
    title: str
    sentence: str


WORKLOADS = [
    Choice(
        "bank", "Bank transfers", "Every process holds money and sends some of it on, at random."
    ),
    Choice("token-ring", "Token ring", "Tokens are held for a while, then passed on."),
    Choice("random", "Random traffic", "Every process sends at random and counts what comes."),
    Choice(
        "diffusing",
        "A computation that ends",
        "Work is handed on until none is left: does a snapshot see that it has ended?",
    ),
    Choice(
        "resources",
        "Requests and grants",
        "Processes ask each other for what they hold, and may end in a deadlock.",
    ),
    Choice("token-lost", "A token gets lost", "A token ring in which one token vanishes."),
    Choice("token-copied", "A token is copied", "A token ring in which a token is doubled."),
    Choice("idle", "Nothing", "Only the snapshots happen."),
]
ALGORITHMS = [
    Choice(
        "chandy-lamport",
        "Chandy–Lamport",
        "Markers on FIFO channels; where messages overtake, the verdict says which.",
    ),
    Choice(
        "lai-yang",
        "Lai–Yang",
        "No markers: messages carry the colour of their sender, so channels need not be FIFO.",
    ),
]
DEFAULTS = {
    "workload": "bank",
    "algorithm": "chandy-lamport",
    "seed": "1",
    "events": "1000",
    "snapshot_times": "",
    "mean_delay": "2000",
    "reorder": "",
    "stuck": "",
    "silent": "",
}
LISTS = ("reorder", "stuck", "silent")
NUMBERS = ("seed", "events", "mean_delay")


@dataclass(frozen=True)
class Fields:
    """typed: by field. error: the sentence for ``error_field``, None where all is well."""

    typed: Mapping[str, str]
    initiators: list[tuple[str, bool]]
    error_field: str | None
    error: str | None
    workloads: list[Choice]
    algorithms: list[Choice]
    collect: bool

    @property
    def has_faults(self) -> bool:
        """Whether the part of the form that is folded holds anything."""
        return self.error_field in LISTS or any(self.typed[name] for name in LISTS)


def fields(posted: QueryDict, document: Mapping[str, Any], refusal: Mapping | None) -> Fields:
    chosen = set(posted.getlist("initiators"))
    names = [str(item.get("id")) for item in document["processes"] if isinstance(item, dict)]
    field = (refusal or {}).get("field") or ""
    mine = field.split("[")[0] in (*DEFAULTS, "initiators")
    return Fields(
        {name: posted.get(name, default) for name, default in DEFAULTS.items()},
        [(name, name in chosen) for name in names],
        field.split("[")[0] if mine else None,
        refusal["detail"] if mine else None,
        WORKLOADS,
        ALGORITHMS,
        "collect" in posted,
    )


def parameters(posted: QueryDict) -> dict[str, Any]:
    """As the API takes them. What is no number stays a text, for the check that refuses it."""
    found: dict[str, Any] = {
        "workload": posted.get("workload", DEFAULTS["workload"]),
        "algorithm": posted.get("algorithm", DEFAULTS["algorithm"]),
        "collect": "collect" in posted,
    }
    for name in NUMBERS:
        if text := posted.get(name, "").strip():
            found[name] = as_number(text)
    if initiators := posted.getlist("initiators"):
        found["initiators"] = initiators
    if times := posted.get("snapshot_times", "").replace(",", " ").split():
        found["snapshot_times"] = [as_number(text) for text in times]
    for name in LISTS:
        typed = posted.get(name, "").strip()
        found[name] = (
            "all" if typed == "all" else [item.strip() for item in typed.split(",") if item.strip()]
        )
    return found


def as_number(text: str) -> int | str:
    digits = text.replace("_", "").replace("\u202f", "")
    return int(digits) if digits.lstrip("-").isdecimal() and len(digits) < 20 else text
