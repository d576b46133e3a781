"""What people paste is read without what stands around it, and nothing of it is evaluated."""

import pytest

from snapshots.readers.formats import literals
from snapshots.readers.formats.pasted import bare

PLAIN = b'{"a": 1}'


@pytest.mark.parametrize(
    "pasted",
    [
        PLAIN,
        b"```json\n" + PLAIN + b"\n```",
        b"~~~\n" + PLAIN + b"\n~~~\n\n",
        b">>> q.lastProgress\n" + PLAIN + b"\n>>> ",
        b"In [12]: q.lastProgress\nOut[12]: " + PLAIN,
        b"In [12]: q.lastProgress\nOut[12]:\n" + PLAIN,
        b"scala> println(q.lastProgress)\n" + PLAIN + b"\nscala> :quit",
        b"res3: org.apache.spark.sql.streaming.StreamingQueryProgress =\n" + PLAIN,
        b"me@host:~$ curl -s http://h:8081/jobs/1/checkpoints\n" + PLAIN,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + PLAIN,
        "\ufeff{}".replace("{}", PLAIN.decode()).encode("utf-16-le"),
        "\ufeff{}".replace("{}", PLAIN.decode()).encode("utf-16-be"),
    ],
)
def test_what_stands_around_is_taken_off(pasted):
    assert bare(pasted).removeprefix(b"\xef\xbb\xbf").strip() == PLAIN


@pytest.mark.parametrize(
    "other", [b"", b"INFO it runs", b"P1 sends\nP1 {}", b"# a\n{}", b"\xff\xfe\x00"[:1]]
)
def test_other_text_stays_as_it_is(other):
    assert bare(other) == other


def test_the_numbers_of_lines_stay():
    pasted = b"HTTP/1.1 200 OK\r\nDate: x\r\n\r\n" + PLAIN
    assert bare(pasted).partition(PLAIN)[0].count(b"\n") == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': None, 'b': (1, 2), 'c': [True, False,],}", {"a": None, "b": [1, 2],
                                                            "c": [True, False]}),
        ("“it’s”", "it’s"),
        ("'it\\'s \\u00e9\\x41\\n'", "it's éA\n"),
        ("{“a”: “b”, “c”: -1.5e3}", {"a": "b", "c": -1500.0}),
        ('{"a": nan}', {"a": None}),
        ("9" * 30, 1e30),
    ],
)  # fmt: skip
def test_literals_of_python_and_of_chats_are_read(text, value):
    assert literals.read(text, 0, 10) == (value, len(text))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "{'a': open('x')}",
        "{'a': 1 + 1}",
        "{1: 2}",
        "{'a' 1}",
        "['a' 'b']",
        "'no end",
        "[" * 50 + "]" * 50,
        "Row(a=1)",
        "{'a': b'x'}",
        "",
    ],
)
def test_nothing_else_is_read_and_nothing_is_evaluated(text):
    with pytest.raises(literals.NotLiteral):
        literals.read(text, 0, 10)
