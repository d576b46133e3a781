"""Key groups of keys, as Java's and Flink's hashes give them."""

import pytest

from snapshots.readers.engines.flink.keyed.key_groups import java_hash, key_group
from snapshots.readers.engines.flink.types.composites import ListSerializer, TupleSerializer
from snapshots.readers.engines.flink.types.values import SIMPLE


# By Java: "...".hashCode(), Long.hashCode(...), Tuple2.of(...).hashCode() and so on.
@pytest.mark.parametrize(
    ("name", "key", "code"),
    [
        ("string", "", 0),
        ("string", "hello", 99162322),
        ("string", "polygenelubricants", -(2**31)),
        ("string", "🚀", 1773027),
        ("int", -7, -7),
        ("long", 2**32, 1),
        ("long", -1, 0),
        ("long", 5_000_000_035, 705032738),
        ("boolean", True, 1231),
        ("boolean", False, 1237),
        ("double", 1.5, 1073217536),
        ("double", "NaN", 2146959360),
    ],
)
def test_javas_hash_of_a_key(name, key, code):
    assert java_hash(key, SIMPLE[name]) == code


def test_javas_hash_of_a_tuple():
    pair = TupleSerializer((SIMPLE["string"], SIMPLE["int"]))
    assert java_hash(["a", 2], pair) == 31 * 97 + 2


@pytest.mark.parametrize(
    ("serializer", "key"),
    [
        (SIMPLE["bytes"], {"hex": "00"}),
        (SIMPLE["string"], "\N{REPLACEMENT CHARACTER}"),
        (SIMPLE["string"], None),
        (ListSerializer(SIMPLE["int"]), [1]),
        (TupleSerializer((SIMPLE["instant"],)), ["1970-01-01T00:00:00Z"]),
        (TupleSerializer((SIMPLE["int"],), "case demo.Id"), [1]),
    ],
)
def test_there_is_no_key_group_without_javas_hash(serializer, key):
    assert key_group(key, serializer, 128) is None


def test_a_key_group_is_below_the_maximum_parallelism():
    for number in range(1_000):
        assert 0 <= key_group(number, SIMPLE["int"], 7) < 7
