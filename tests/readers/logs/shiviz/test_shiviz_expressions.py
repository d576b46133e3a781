"""Expressions of ShiViz's logs: what they mean, those that cannot be used, those meant to harm."""

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.logs.shiviz import scanning
from snapshots.readers.logs.shiviz.expressions import compiled
from snapshots.readers.logs.shiviz.scanning import WINDOW, Scanner
from tests.effort import examples
from tests.readers.logs.shiviz.cases import PLAIN, refusal

BAD_EXPRESSIONS = {
    "no host": r"(?<clock>{.*}) (?<event>.*)",
    "no event": r"(?<host>\S*) (?<clock>{.*})",
    "ahead": PLAIN + "(?=x)",
    "behind": "(?<!x)" + PLAIN,
    "back": PLAIN + r"(a)\1",
    "back by name": PLAIN + r"\k<host>",
    "open group": "(" + PLAIN,
    "open class": "[" + PLAIN,
    "backslash": PLAIN + "\\",
    "twice": PLAIN + r"(?<host>x)",
    "Python": PLAIN + r"(?P<x>x)",
    "nothing to repeat": "*" + PLAIN,
    "counts": PLAIN + r"((a{100}){100}){100}",
    "large count": PLAIN + r"a{1001}",
    "slow": PLAIN + r".{0,900}b",
    "long": PLAIN + "x" * 2000,
    "finds nothing": "zzz" + PLAIN,
}


@pytest.mark.parametrize("parser", BAD_EXPRESSIONS.values(), ids=BAD_EXPRESSIONS)
def test_an_expression_that_cannot_be_used_is_explained(tmp_path, parser):
    data = parser.encode() + b"\n\n" + b'a {"a":1} x\n'
    found = refusal(tmp_path, data)
    assert found.code == "bad-expression"
    assert found.sentence.endswith((".", "?"))


HARMFUL = [
    r"(?<event>(a*)*)b(?<host>x)(?<clock>y)",
    r"(?<event>(a|aa)+)$(?<host>x)(?<clock>y)",
    r"(?<event>a)(?<host>b?)(?<clock>c?)([\s\S]*z)?",
    r"(?<event>(?:a|b)*a(?:a|b){10})(?<host>c)(?<clock>d)",
    r"(?<host>(a|b|ab)*)(?<clock>(a|b){0,90})(?<event>c?)$",
]


@pytest.mark.parametrize("parser", HARMFUL)
def test_no_expression_takes_longer_than_it_may(tmp_path, monkeypatch, parser):
    monkeypatch.setattr(scanning.Scanner.__init__, "__defaults__", (0.3,))
    chance = random.Random(1)
    text = bytes(chance.choice(b"aaab") for _ in range(2**20))
    started = time.process_time()
    found = refusal(tmp_path, parser.encode() + b"\n\n" + text)
    assert time.process_time() - started < 4
    assert found.code in ("bad-expression", "bad-clock")


def test_events_longer_than_a_window_are_skipped_and_those_that_fit_are_not():
    found = compiled(r"<(?<host>[^>]*)>")
    inside, beyond = b"<" + b"x" * (WINDOW // 2 - 2) + b">", b"<" + b"x" * 2 * WINDOW + b">"
    for lead in (0, 1, WINDOW // 2 - 1, WINDOW // 2, WINDOW - 1, WINDOW, 3 * WINDOW):
        text = b" " * lead + inside + b"<a>" + beyond + b"<b>"
        matches = list(Scanner().matches(found, text, 0, len(text)))
        lengths = [match.end - match.start for match in matches]
        assert lengths == [len(inside), 3, 3], lead


def found_in(pattern, text):
    return [text[m.start : m.end] for m in Scanner().matches(compiled(pattern), text, 0, len(text))]


def test_a_window_cuts_no_match_and_hides_none():
    run = b"x" * (WINDOW - 5)
    assert found_in("x+", b" " * 10 + run + b" xx") == [run, b"xx"]
    across = b"<" + b" " * 12 + b"y" + b" " * 12 + b">"
    assert found_in("<[^>]*>|y", b" " * (WINDOW - 20) + across + b"y") == [across, b"y"]


def test_a_program_that_would_be_slow_is_not_run():
    with pytest.raises(InputRefused, match="repeats too much"):
        compiled(".{0,900}b")


ALIKE = [
    (r"[^]x", "\nx"), (r"a{,2}", "a{,2}"), (r"{x}", "{x}"), (r"[[:alpha:]]", ":]"),
    (r"\u0041\x42\/\-", "AB/-"), (r"[\]\\^-]+", "]^-\\"), (r"^b$", "a\nb\nc"), (r"a.b", "a\rb"),
    (r"\s+x", "\u00a0\ufeff x"), (r"[\s,]+x", "\u2003,x"), (r"[\S]+", "\u00a0ab"),
    (r"\S+", "\u00a0ab"), (r"[\b]", "\x08"), (r"\bab\b", "ab c"), (r"a\.b", "axb a.b"),
    (r"é+", "éé"),
    (r"[à-é]+", "xéà"), (r"\cx", "cx"), (r"a|b", "xb"), (r"(?:a)(b)", "ab"), (r"[^a]", "a\nb"),
]  # fmt: skip
EXPECTED = [
    "\nx", "a{,2}", "{x}", ":]", "AB/-", "]^-\\", "b", None, "\u00a0\ufeff x", "\u2003,x", "ab",
    "ab", "\x08", "ab", "a.b", "éé", "éà", "cx", "b", "ab", "\n",
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [(*pair, found) for pair, found in zip(ALIKE, EXPECTED, strict=True)],
)
def test_an_expression_means_what_it_means_in_javascript(pattern, text, expected):
    match = compiled(pattern).engine.search(text.encode())
    assert (match and match.group().decode()) == expected


SAFE = st.text(alphabet="ab01 .*+?|()[]{}^$\\d\\w-,", max_size=12)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@settings(max_examples=examples(200), deadline=None)
@given(pattern=SAFE, text=st.text(alphabet="ab01 .-\n{}", max_size=20))
def test_an_expression_that_python_reads_finds_what_python_finds(pattern, text):
    try:
        known = re.compile(pattern, re.MULTILINE | re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return
    try:
        mine = compiled(pattern)
    except InputRefused:
        return
    different = ("{", "[]", "[^]", "\\", "++", "*+", "?+", "(?", "$", "||", "[[", "--")
    if any(mark in pattern for mark in different):
        return
    found, expected = mine.engine.search(text.encode()), known.search(text)
    assert (found and found.group().decode()) == (expected and expected.group())
