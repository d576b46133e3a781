"""Properties that users write: right answers, errors that point at their place, and limits."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.conditions.expressions import LONGEST, Expression, ExpressionError, Question
from snapshots.domain.properties.answers import OWN
from snapshots.domain.properties.global_state import GlobalState
from snapshots.sandbox import evaluation
from snapshots.sandbox.evaluation import TooMuch, evaluate, strip
from tests.effort import examples

pytestmark = pytest.mark.slow

BANKS = {"A": {"balance": 9000}, "B": {"balance": 3000}, "c 3": 7}
CHANNELS = {"A->B": (), "B->A": (1000, 2000)}


def a_state(processes=BANKS, channels=CHANNELS, snapshot="s1"):
    ends = dict.fromkeys(channels, ("A", "B"))
    return GlobalState(snapshot, processes, channels, ends)


def outcome(text, state=None, names=frozenset("AB"), **options):
    """Evaluate without a child process."""
    return Expression(text, names).outcome(
        state
        or {
            "processes": BANKS,
            "channels": {name: list(values) for name, values in CHANNELS.items()},
            "snapshot": "s1",
        },
        **options,
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('processes["A"].balance == 9000', True),
        ("processes.A.balance + B.balance == 12000", True),
        ("A.balance < 5000 && B.balance < 5000", False),
        ('size(channels["A->B"]) == 0', True),
        ('channels["B->A"].all(money, money >= 1000)', True),
        ('channels["B->A"] == [1000, 2000]', True),
        ("channels.exists(c, channels[c].exists(m, m > 1500))", True),
        ("processes.exists(p, processes[p] == 7)", True),
        ('processes["c 3"] == 7.0', True),
        ('snapshot == "s1"', True),
        ('snapshot.matches("s[0-9]+")', True),
        ("processes.all(A, A != 'Z') && A.balance == 9000", True),
        ('A.balance > 1 || processes["Z"] == 1', True),
        ("has(A.balance) && !has(A.name)", True),
    ],
)
def test_an_expression_over_the_state(text, value):
    assert outcome(text).value is value


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        ("", 1, "The expression is empty"),
        ("A.balance < ", 13, "ends too early"),
        ("A.balance = 3", 11, "Write == for equal"),
        ("A.balance > 1 & B.balance > 1", 15, "Write && for and"),
        ("A.balance * / 2 == 1", 13, "/ is not expected here"),
        ('processes["A" == 1', 19, "']' is missing here"),
        ("1 + balance == 2", 5, 'There is no balance here. .*processes\\["balance"\\]'),
        ("true && total(A) > 3", 9, "CEL has no function total"),
        ('"a" + 1 == "a1"', 5, r"\+ does not apply to a text and a whole number"),
        ("A.balance + 0.5 > 1", 17, r"a fraction and a whole number\. Write double"),
        ("size(channels)", 1, "gives a whole number; it must be true or false"),
        ('channels["A->B"]["2"] == 1', 17, r"by its number, as in \[2\], not by a text"),
        ("processes[2] == 1", 10, r'named by a text, as in \["name"\], not by a whole number'),
        ("processes", 1, "it must be true or false"),
        ("(" * 200 + "true" + ")" * 200, 1, "nested too deeply"),
        ("A" * 2001, 2001, "at most 2,000 characters"),
        ("true && \ud800", 9, "This character is not allowed"),
        ("true\0", 5, "This character is not allowed"),
        ("__import__('os').system('true')", 1, "CEL has no function __import__"),
    ],
)
def test_what_cannot_be_understood_is_refused_where_it_stands(text, column, sentence):
    with pytest.raises(ExpressionError, match=sentence) as refused:
        Expression(text, frozenset("AB"))
    assert (refused.value.line, refused.value.column) == (1, column)


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        ("A.balance", 2, r"result is 9,000, a whole number; it must be true or false"),
        ('true && processes["Z"] == 1', 18, "There is no Z in it"),
        ("A.balance > 1 && B.name == 'x'", 19, "There is no name in it"),
        ("B.balance / (A.balance - 9000) == 1", 11, "divides by zero"),
        ("A < 3", 3, "< does not apply to an object and a whole number"),
        ('channels["B->A"][2] == 1', 17, "There is no item 2; the list has 2"),
        ("A.balance.cents == 1", 10, "Only an object has fields"),
        ('channels["B->A"].all(m, m < "x")', 21, "< does not apply to a whole number and a text"),
    ],
)
def test_what_has_no_value_says_why_and_where(text, column, sentence):
    found = outcome(text)
    assert found.value is None
    with pytest.raises(ExpressionError, match=sentence):
        raise found.error
    assert found.error.column == column


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("A.balance == 8000 + 1", ["9,000 == 8,001"]),
        ("!(A.balance < 1) || B.name == 'x'", ["9,000 < 1"]),
        ("A.balance > 1 && 'x' != 'y' && 1.5 <= 2.5 && 1 == 1",
         ["9,000 > 1", '"x" != "y"', "1.5 <= 2.5"]),
        ('channels["B->A"].all(m, m < 3)', []),
        ("true", []),
    ],
)  # fmt: skip
def test_an_expression_explains_itself_by_both_sides_of_its_comparisons(text, sides):
    found = outcome(text, explain=True)
    assert [f"{one.left} {one.sign} {one.right}" for one in found.compared] == sides
    assert outcome(text).compared == ()
    (answer,) = strip(text, [a_state()])
    assert answer.sentence.endswith(f"{'; '.join(sides)}." if sides else "recorded state.")


@pytest.mark.parametrize(
    ("text", "value"),
    [("A.balance", "9,000"), ("A.balance - 1", "8,999"), ('[1.5, "x"]', '[1.5, "x"]')],
)
def test_what_is_neither_true_nor_false_says_what_it_comes_to(text, value):
    (answer,) = strip(text, [a_state()], must_decide=False)
    assert (answer.holds, answer.came_to) == (None, value)
    assert answer.sentence == f"The expression comes to {value}, which is neither true nor false."


def test_the_caret_stands_below_the_column_of_its_line():
    with pytest.raises(ExpressionError) as refused:
        Expression("A.balance > 1 &&\n  nobody.balance > 1", frozenset("A"))
    error = refused.value
    assert (error.line, error.column) == (2, 3)
    assert error.excerpt == "  nobody.balance > 1\n  ^"
    long = "A.balance > 1 && " * 20 + "nobody == 1"
    with pytest.raises(ExpressionError) as refused:
        Expression(long, frozenset("A"))
    shown, caret = refused.value.excerpt.split("\n")
    assert len(shown) <= 80
    assert shown[caret.index("^") :].startswith("nobody")


@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                [
                    "A",
                    ".balance",
                    " && ",
                    "(",
                    ")",
                    "[",
                    "]",
                    '"A"',
                    "processes",
                    "channels",
                    "1",
                    " < ",
                    ".all(x, ",
                    "x",
                    "!",
                    "?",
                    ":",
                    "{",
                    "}",
                    ",",
                    "'",
                    "\\",
                    "\n",
                    "é",
                    "-",
                ]
            ),
            max_size=15,
        ).map("".join),
    )
)
def test_any_text_is_taken_or_refused_with_a_place(text):
    error = error_of(text)
    if error is not None:
        assert error.sentence
        assert 1 <= error.line <= text.count("\n") + 1
        assert 1 <= error.column <= len(text.split("\n")[error.line - 1]) + 1


def error_of(text):
    try:
        return outcome(text).error
    except ExpressionError as error:
        return error


def test_every_answer_of_a_strip_is_that_of_its_snapshot():
    states = [a_state(snapshot=f"s{n}", processes={"A": {"balance": n}}) for n in range(200)]
    answers = strip("A.balance >= 150", states)
    assert [answer.holds for answer in answers] == [n >= 150 for n in range(200)]
    assert [answer.snapshot for answer in answers] == [state.snapshot for state in states]
    assert answers[3].witness == {"processes": {"A": {"balance": 3}}}
    assert (answers[3].conclusion, answers[150].conclusion) == (OWN.false, OWN.true)


def test_a_strip_over_no_snapshots_still_checks_the_expression():
    assert strip("true", []) == ()
    with pytest.raises(ExpressionError):
        strip("true &&", [])


@pytest.mark.parametrize(
    ("text", "answer", "missing"),
    [
        ("A.balance > 1", "true", ()),
        ("A.balance > 1 || B.balance > 1", "true", ()),
        ("A.balance > 1 && B.balance > 1", "unknown", ("the state of B",)),
        ("processes.all(p, p != 'Z')", "unknown", ("the state of B",)),
        ("has(processes.B)", "unknown", ("the state of B",)),
        ("'B' in processes", "unknown", ("the state of B",)),
        ("size(channels['B->A']) == 0", "unknown", ("the contents of B->A",)),
        ("channels.all(c, size(channels[c]) == 0)", "unknown", ("the contents of B->A",)),
        ("size(channels['A->B']) == 2", "true", ()),
        ("channels['A->B'][1] == null", "true", ()),
        ("processes['Z'] == 1", "unknown", ()),
    ],
)
def test_what_is_not_known_is_neither_true_nor_false(text, answer, missing):
    state = a_state({"A": {"balance": 3}, "B": None}, {"A->B": (5, None), "B->A": None})
    (found,) = strip(text, [state])
    assert (found.answer, found.missing) == (answer, missing)


def test_a_snapshot_without_a_value_does_not_spoil_the_others():
    states = [a_state({"A": 0}), a_state({"A": 2}), a_state({"A": "x"})]
    answers = strip("4 / A == 2", states)
    assert [answer.answer for answer in answers] == ["unknown", "true", "unknown"]
    assert answers[0].sentence == (
        "The expression has no value here: column 3: This divides by zero."
    )
    assert answers[0].witness["error"]["excerpt"] == "4 / A == 2\n  ^"


# The limits.

MANY = a_state({"A": 1}, {"c": tuple(range(9000))})


def test_an_endless_comprehension_is_cut_off():
    began = time.process_time()
    text = "channels.c.all(x, channels.c.all(y, channels.c.all(z, x + y + z >= 0)))"
    (found,) = strip(text, [MANY])
    assert time.process_time() - began < 4
    assert found.answer == "unknown"
    assert "more than 10,000 items" in found.sentence


def test_the_time_limit_holds_and_says_how_far_it_came():
    some = a_state({"A": 1}, {"c": tuple(range(300))})  # little memory each
    states = [a_state()] * 5 + [some] * 600
    began = time.process_time()
    with pytest.raises(TooMuch, match=r"longer than 0.5 seconds after \d+ of 605 states"):
        strip("channels.all(c, channels[c].map(x, x).size() >= 0)", states, seconds=0.5)
    assert time.process_time() - began < 3


def test_the_memory_limit_holds():
    with pytest.raises(TooMuch, match="more memory or time than it may after 0 of 1 states"):
        strip("channels.c.map(x, channels.c).size() == 9000", [MANY], memory=128 << 20)


def test_states_that_are_too_large_are_not_sent(monkeypatch):
    monkeypatch.setattr(evaluation, "LARGEST_INPUT", 10_000)
    with pytest.raises(TooMuch, match="Choose fewer snapshots"):
        strip("true", [MANY])


def test_a_state_that_is_nested_too_deeply_is_refused():
    deep = 1
    for _ in range(300):
        deep = [deep]
    with pytest.raises(TooMuch, match="nested very deeply"):
        strip("A == 1", [a_state({"A": deep})])


def test_the_longest_expression_that_is_allowed_works():
    text = " && ".join(["A.balance > 1"] * 200)[:LONGEST].rpartition(" && ")[0]
    assert strip(text, [a_state()])[0].holds


def test_several_expressions_share_one_child():
    first, second = Expression("A == 1", frozenset("A")), Expression("A == 1 / 0", frozenset("A"))
    values = [{"processes": {"A": n}} for n in range(3)]
    outcomes = evaluate([Question(first, values), Question(second, values[:1])])
    assert [item.value for item in outcomes[0]] == [False, True, False]
    assert outcomes[1][0].error.column == 8


def test_only_so_many_children_run_at_once():
    for _ in range(evaluation.MOST_AT_ONCE):
        assert evaluation._turns.acquire(timeout=1)
    try:
        with pytest.raises(TooMuch, match="Other people's expressions"):
            strip("true", [a_state()], seconds=0.2)
    finally:
        for _ in range(evaluation.MOST_AT_ONCE):
            evaluation._turns.release()
    assert strip("true", [a_state()])[0].holds is True
