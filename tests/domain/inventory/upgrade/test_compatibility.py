"""Types as people and checkpoints spell them, and whether one serializer reads the other's."""

import pytest

from snapshots.domain.inventory.upgrade.compatibility import Fit, compatibility, spelt
from snapshots.domain.inventory.upgrade.type_text import LONGEST, arrows, parse

ACCT = "demo.Acct{owner: string, total: long, times: int}"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Long", "long"),
        ("java.lang.Long", "long"),
        ("Integer", "int"),
        ("byte[]", "bytes"),
        ("Tuple2<String, Long>", "tuple<string,long>"),
        ("java.util.List<Long>", "list<long>"),
        ("Map<String, List<Long>>", "map<string,list<long>>"),
        ("Acct{total: long, owner: String}", "a.b.Acct{owner: string, total: long}"),
        ("kryo a.b.C", "kryo C"),
    ],
)
def test_one_type_is_spelt_in_many_ways(text, same):
    assert parse(text) == parse(same)
    assert parse(text) is not None


@pytest.mark.parametrize(
    "text", ["", "list<", "list<long", "list<>", "long>", "A{b}", "A{b: }", "a,b", "<long>", ":"]
)
def test_what_spells_no_type_is_none(text):
    assert parse(text) is None


def test_a_long_or_deep_text_is_no_type():
    assert parse("x" * (LONGEST + 1)) is None
    assert parse("list<" * 41 + "long" + ">" * 41) is None
    assert parse("list<" * 40 + "long" + ">" * 40) is not None


def test_arrows_are_split_outside_brackets():
    assert arrows("string → A{f: map<int,long>} -> long") == [
        "string",
        "A{f: map<int,long>}",
        "long",
    ]


def fit(before: str, after: str) -> tuple[Fit, str]:
    found = compatibility(parse(before), parse(after))
    return found.fit, found.why


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("long", "Long", Fit.SAME),
        ("long", "String", Fit.REFUSED),
        ("list<long>", "List<Long>", Fit.SAME),
        ("list<long>", "List<String>", Fit.REFUSED),
        ("tuple<string,long>", "Tuple3<String,Long,Long>", Fit.REFUSED),
        ("row<string,int>", "row<string,long>", Fit.REFUSED),
        (ACCT, "Acct{owner: String, total: long, times: int}", Fit.SAME),
        (ACCT, "Acct{owner: String, total: long, times: int, note: String}", Fit.MIGRATED),
        (ACCT, "Acct{owner: String, total: long}", Fit.MIGRATED),
        (ACCT, "Acct{owner: String, total: double, times: int}", Fit.REFUSED),
        (ACCT, "Acct{owner: String, total: double, times: int, note: String}", Fit.REFUSED),
        (ACCT, "Account{owner: String, total: long, times: int}", Fit.REFUSED),
        (f"list<{ACCT}>", "List<Acct{owner: String}>", Fit.MIGRATED),
        (ACCT, "Acct", Fit.UNKNOWN),
        ("pojo demo.Acct", "Acct", Fit.UNKNOWN),
        ("kryo a.C", "kryo a.C", Fit.UNKNOWN),
        ("long", "Money", Fit.UNKNOWN),
        ("Money", "long", Fit.UNKNOWN),
    ],
)
def test_how_a_new_type_fits_an_old_one(before, after, expected):
    assert fit(before, after)[0] is expected


def test_the_difference_is_named():
    assert (
        "the field total of Acct change from long to double"
        in (fit(ACCT, "Acct{owner: String, total: double, times: int}")[1])
    )
    found = fit(ACCT, "Acct{owner: String, times: int, note: String}")[1]
    assert "the field note is new" in found
    assert "the field total is gone" in found


def test_a_type_is_spelt_for_people():
    assert spelt(parse("Map<String, Acct{b: long, a: Tuple2<int,int>}>")) == (
        "map<string, Acct{a: tuple<int, int>, b: long}>"
    )


@pytest.mark.parametrize(
    ("before", "after", "fit"),
    [
        ("rowdata<BIGINT, DECIMAL(38, 0)>", "rowdata<bigint, decimal(38,0)>", Fit.SAME),
        ("rowdata<VARCHAR(2147483647)>", "rowdata<STRING>", Fit.SAME),
        ("rowdata<BIGINT>", "rowdata<BIGINT NOT NULL>", Fit.REFUSED),
        ("rowdata<DECIMAL(38, 0)>", "rowdata<DECIMAL(38, 2)>", Fit.REFUSED),
        ("rowdata<BIGINT>", "rowdata<BIGINT, BIGINT>", Fit.REFUSED),
        ("rowdata<ArrayType>", "rowdata<ArrayType>", Fit.UNKNOWN),
    ],
)
def test_columns_of_sql_are_compared_as_flink_does(before, after, fit):
    assert compatibility(parse(before), parse(after)).fit is fit
