"""Play an act against the disk, and hold what is there afterwards against an undisturbed run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.storage.game import Game, Played

FAULTS = ("full", "error", "read-only", "torn", "power")
PASSING = (503, 507)
OF_A_COMMAND = 0
AGAIN = ["again", "and no step"]
LOG_OF_SQLITE = "-wal"
WORDS = ("disk", "database", "No space left", "Input/output error", "Read-only file system")
"""What the reason of a refusal names."""
MAY_BE_DOUBLED = ("recordings", "jobs", "aside", "unfinished")


@dataclass
class Undisturbed:
    """What an act changes and leaves on a sound disk."""

    act: str
    given: dict[str, Any]
    changes: list[tuple[str, str]]
    there: dict[str, Any]


@dataclass
class Outcome:
    """How a play ended: in one word, and what is wrong with it."""

    word: str
    wrong: list[str]


def undisturbed(game: Game, act: str, **given: Any) -> Undisturbed:
    """Play an act on a sound disk."""
    game.put_back()
    played = game.act(act, so_far=[], **given)
    assert (played.status, played.told("refused")) == (0, []), played.said
    there, wrong = _finished(game, act, given, played)
    assert there is not None, wrong
    return Undisturbed(act, given, played.changes, there)


def play(game: Game, sound: Undisturbed, at: int, fault: str) -> Outcome:
    """Let the ``at``-th change of an act meet a fault, and let the client go on afterwards.

    With the fault ``power``, one more than there are changes is the moment after the last one.
    """
    game.put_back()
    played = game.act(sound.act, at, fault, so_far=[], **sound.given)
    wrong = list(_wrong_answers(played))
    there, complaints = _finished(game, sound.act, sound.given, played)
    wrong += complaints
    if there is not None:
        kind, path = sound.changes[at - 1] if at <= len(sound.changes) else ("", "")
        could_not_remove = fault in ("read-only", "power") or kind == "unlink"
        is_uncertain = played.status != 0 or (kind == "sync" and path.endswith(LOG_OF_SQLITE))
        may_leave = ("aside",) if could_not_remove else ()
        wrong += _differences(sound.there, there, may_leave, is_uncertain=is_uncertain)
    return Outcome(_word(played), wrong)


def _finished(game: Game, act: str, given: dict[str, Any], played: Played) -> tuple[Any, list[str]]:
    """Return what is there when the client has gone on, and what went wrong meanwhile."""
    finished = game.act("finish", act=act, so_far=[*played.said, AGAIN], **given)
    complaints = [f"then refused: {words}" for words in finished.told("refused")]
    complaints += [f"then failed: {words}" for words in finished.told("failed")]
    there = finished.told("there")
    return (there[0][0] if there else None), complaints


def _wrong_answers(played: Played) -> Iterator[str]:
    """Yield each answer that is neither right nor says what is the matter."""
    for step, status, body in played.told("refused"):
        detail = json.loads(body).get("detail", "") if body.startswith("{") else body
        if status not in (*PASSING, OF_A_COMMAND) or not any(word in detail for word in WORDS):
            yield f"{step} was answered {status}: {body[:300]}"
    for state, error in played.told("waits"):
        if state != "queued" or not any(word in error.get("detail", "") for word in WORDS):
            yield f"the job is {state}: {error}"
    yield from (f"it failed: {words}" for words in played.told("failed"))
    if played.status not in (0, -9):
        yield f"it ended with {played.status}"


def _differences(
    sound: dict, there: dict, may_leave: tuple[str, ...], *, is_uncertain: bool
) -> Iterator[str]:
    """Yield each difference.

    If a client got no answer, or one after a sync of the database's log that failed, it is not
    certain whether the call was carried out. It asked again: what it wants may be there twice, each
    whole.
    """
    for key in sound.keys() - set(may_leave):
        one, two = _comparable(sound[key], key), _comparable(there[key], key)
        if is_uncertain and key in MAY_BE_DOUBLED:
            if key in ("aside", "unfinished"):
                continue
            one, two = _once(one), _once(two)
        if one != two:
            yield f"{key}: {two}, and undisturbed {one}"


def _comparable(value: Any, key: str) -> Any:
    if key != "recordings":
        return value
    return [{name: told for name, told in each.items() if name != "id"} for each in value]


def _once(values: list[Any]) -> list[str]:
    return sorted({json.dumps(value, sort_keys=True) for value in values})


def _word(played: Played) -> str:
    if played.status == -9:
        return "died"
    if played.told("refused"):
        return "refused"
    return "waited" if played.told("waits") or played.is_mended else "went on"
