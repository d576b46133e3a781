"""The page on which a person is one of three banks and decides what it does for a snapshot.

The address holds all decisions: ``?d=`` has one word for each event of B, of the letters r
(record), a and c (a marker to A, to C) and n (note the message), or ``-``.
"""

import re
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.snapshot_log import snapshot_logs
from snapshots.domain.judging.unended import SENDING_RULE, Cause, Unended, why_unended
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import MARKER_RECEIVE, SEND
from snapshots.domain.simulators.played import Decision, Played, Step, faults, play
from snapshots.problems import Invalid
from snapshots.simulating.parameters import LARGEST_SEED
from snapshots.web.pages.played_picture import picture
from snapshots.web.pages.rendering import page

FIRST_SEED = 4
MOST_STEPS = 12
_WORDS = re.compile(r"(?:-|(?=[racn])r?a?c?n?)(?:\.(?:-|(?=[racn])r?a?c?n?))*")


@page
@require_safe
def process(request: HttpRequest) -> HttpResponseBase:
    """Show the next event of B, or the judge's answer when the run has ended."""
    seed, words = _seed(request), _words(request)
    has_reasons = request.GET.get("why") == "1"
    if "step" in request.GET:
        return redirect(_address(seed, [*words, _word_of_form(request)], has_reasons=has_reasons))
    decisions = list(map(_decision, words))
    played = play(seed, decisions)
    words = words[: len(played.steps)]
    found = [faults(step, choice) for step, choice in zip(played.steps, decisions, strict=False)]
    context = {
        "seed": seed,
        "words": ".".join(words),
        "has_reasons": has_reasons,
        "history": [
            {"event": _event(step), "decided": _decided(step, choice), "faults": wrong}
            for step, choice, wrong in zip(played.steps, decisions, found, strict=False)
        ],
        "step": _waiting(played.waiting),
        "number": len(played.steps) + 1,
        "faults": sum(map(len, found)),
        "back_link": _address(seed, words[:-1], has_reasons=has_reasons) if words else "",
        "again_link": _address(seed, [], has_reasons=has_reasons),
        "other_link": _address((seed + 1) % LARGEST_SEED, [], has_reasons=has_reasons),
        "reasons_link": _address(seed, words, has_reasons=not has_reasons),
        **_judged(played),
    }
    return render(request, "snapshots/learn/process.html", context)


def _judged(played: Played) -> dict[str, Any]:
    """Return the picture, and at the end what the judge says of the log."""
    if played.waiting is not None:
        return {"picture": picture(played.log.events, set(), is_over=False)}
    recording = assemble(*played.log).recording
    (report,) = judge(recording)
    (log,) = snapshot_logs(recording)
    unended = why_unended(recording, log)
    wrong = {(str(item.channel), str(item.message)) for item in report.findings if item.message}
    return {
        "report": report,
        "totals": report.totals,
        "witnesses": report.findings if report.verdict != "consistent" else (),
        "causes": [] if unended is None else _causes(unended),
        "picture": picture(played.log.events, wrong, is_over=True),
    }


def _causes(unended: Unended) -> list[Cause]:
    """Return the causes that no witness says already."""
    return [cause for cause in unended.causes if cause.condition != SENDING_RULE]


def _seed(request: HttpRequest) -> int:
    given = request.GET.get("seed", str(FIRST_SEED))
    if not (given.isascii() and given.isdigit() and int(given[:20]) <= LARGEST_SEED):
        raise Invalid(f"seed is a whole number from 0 to {LARGEST_SEED:,}.", field="seed")
    return int(given)


def _words(request: HttpRequest) -> list[str]:
    given = request.GET.get("d", "")
    if not given:
        return []
    if len(given) > MOST_STEPS * 5 or not _WORDS.fullmatch(given):
        raise Invalid("d has a word of the letters r, a, c and n, or -, for each event.", field="d")
    return given.split(".")


def _word_of_form(request: HttpRequest) -> str:
    chosen = (letter for letter in "racn" if request.GET.get(letter) == "1")
    return "".join(chosen) or "-"


def _decision(word: str) -> Decision:
    markers = tuple(letter.upper() for letter in "ac" if letter in word)
    return Decision("r" in word, markers, "n" in word)


def _address(seed: int, words: list[str], *, has_reasons: bool) -> str:
    query = {"seed": str(seed), "d": ".".join(words), "why": "1" if has_reasons else ""}
    given = urlencode({name: value for name, value in query.items() if value})
    return f"{reverse('be-the-process')}?{given}"


def _waiting(step: Step | None) -> dict[str, Any] | None:
    """Return what the person sees before they decide, or None at the end."""
    if step is None:
        return None
    return {
        "event": _event(step),
        "is_receive": step.kind not in (SEND, MARKER_RECEIVE),
        "is_marker": step.kind == MARKER_RECEIVE,
        "message": step.message,
        "other": step.other,
        "balance": step.balance,
        "has_recorded": step.has_recorded,
        "markers": [
            {"letter": other.lower(), "to": other, "was_sent": other in step.marked}
            for other in ("A", "C")
        ],
        "channels": [
            {
                "of": other,
                "is_closed": other in step.closed,
                "noted": ", ".join(step.noted.get(other, ())),
            }
            for other in ("A", "C")
        ],
    }


def _event(step: Step) -> str:
    if step.kind == MARKER_RECEIVE:
        return f"The marker from {step.other} arrives."
    if step.kind == SEND:
        return f"You are about to send {step.amount} to {step.other} ({step.message})."
    return f"{step.message} arrives: {step.amount} from {step.other}."


def _decided(step: Step, decision: Decision) -> str:
    done = []
    if decision.record and not step.has_recorded:
        done.append(f"recorded {step.balance}")
    if decision.markers:
        done.append(f"sent a marker to {' and '.join(decision.markers)}")
    if decision.note and step.message:
        done.append(f"noted {step.message} for the channel from {step.other}")
    return f"You {', '.join(done)}." if done else "You did nothing for the snapshot."
