"""The addresses at which the sentences of a first answer can be checked."""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.answering import sentences
from snapshots.web.pages import links


def with_addresses(recording: int, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a first answer as JSON with an address for each piece of evidence."""
    return {
        **answer,
        "subjects": [
            {
                **subject,
                "sentences": [
                    _sentence(recording, position, item) for item in subject["sentences"]
                ],
            }
            for position, subject in enumerate(answer["subjects"], 1)
        ],
    }


def _sentence(recording: int, position: int, sentence: Mapping[str, Any]) -> dict[str, Any]:
    evidence = [
        item | {"address": _address(recording, position, item)} for item in sentence["evidence"]
    ]
    return {**sentence, "evidence": evidence}


def _address(recording: int, position: int, evidence: Mapping[str, Any]) -> str:
    """Return the address of a piece of evidence; ``position`` is that of its job on the page."""
    kind, name = evidence["kind"], evidence["name"] or ""
    if kind == sentences.CHECKPOINT:
        return f"/recordings/{recording}/contents/{evidence['number']}"
    if kind == sentences.TIMES:
        return links.to_checkpoint(recording, name)
    if kind == sentences.SNAPSHOT:
        return links.to_snapshot(recording, name)
    if kind == sentences.WORKBENCH:
        return links.to_workbench(recording, snapshot=name)
    if kind in (sentences.LOADS, sentences.FAILURES):
        return f"/recordings/{recording}/answer#{kind}-{position}"
    return f"/recordings/{recording}{_PLAIN[kind]}"


_PLAIN = {
    sentences.ALL_TIMES: "/checkpoints",
    sentences.CONTENTS: "/contents",
    sentences.DEFECTS: "/defects",
    sentences.SNAPSHOTS: "/properties",
}
