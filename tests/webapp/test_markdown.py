"""Markdown of people becomes HTML that can only format text."""

from html.parser import HTMLParser

import pytest
from django.template import Context, Template

from tests.hostile.payloads import ALL
from webapp import markdown
from webapp.markdown import (
    ATTRIBUTES,
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_MARKS,
    MOST_NESTED,
    TAGS,
    to_html,
)

ALLOWED = {**ATTRIBUTES, "a": {*ATTRIBUTES["a"], "rel"}}
# The HTML of what people write.
WRITTEN = {
    "**b** _e_ ~~s~~ `c`": "<p><strong>b</strong> <em>e</em> <s>s</s> <code>c</code></p>",
    "# a": "<h3>a</h3>",
    "##### a": "<h6>a</h6>",
    "- a\n- b": "<ul>\n<li>a</li>\n<li>b</li>\n</ul>",
    "3. a": '<ol start="3">\n<li>a</li>\n</ol>',
    "> q": "<blockquote>\n<p>q</p>\n</blockquote>",
    "```py\na < b\n```": "<pre><code>a &lt; b\n</code></pre>",
    "a<b>c": "<p>a&lt;b&gt;c</p>",
    "@ada look": "<p>@ada look</p>",
    "[a](/recordings/1)": '<p><a href="/recordings/1" rel="noopener nofollow">a</a></p>',
    "[a](https://a.example/?b=1&c=2)": (
        '<p><a href="https://a.example/?b=1&amp;c=2" rel="noopener nofollow">a</a></p>'
    ),
    "<mailto:ada@a.example>": (
        '<p><a href="mailto:ada@a.example" rel="noopener nofollow">mailto:ada@a.example</a></p>'
    ),
    "![a](https://a.example/a.png)": (
        '<p>!<a href="https://a.example/a.png" rel="noopener nofollow">a</a></p>'
    ),
    "a\u202etxt.exe": "<p>a⟨U+202E⟩txt.exe</p>",
    "[a](/a\u202eb)": '<p><a href="/a%E2%80%AEb" rel="noopener nofollow">a</a></p>',
}
REFUSED = (
    "javascript:x",
    "data:text/html,x",
    "//a.example",
    "\\\\a.example",
    "b",
    "ftp://a.example",
)
TABLE = "| a | b |\n| :-: | --- |\n| 1 | 2 |"


class Tags(HTMLParser):
    """Collects the elements of HTML with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", WRITTEN)
def test_markdown_becomes_html(text):
    assert to_html(text).strip() == WRITTEN[text]


@pytest.mark.parametrize("address", REFUSED)
def test_a_link_that_is_not_allowed_stays_text(address):
    assert "<a" not in to_html(f"[a]({address})")
    assert "[a](" in to_html(f"[a]({address})")


def test_the_cells_of_a_table_are_aligned_without_a_style():
    html = to_html(TABLE)
    assert '<th align="center">a</th>' in html
    assert "<td>2</td>" in html
    assert "style" not in html


@pytest.mark.parametrize("payload", ALL)
def test_no_payload_becomes_more_than_formatted_text(payload):
    for tag, attributes in Tags(to_html(payload)).seen:
        assert tag in TAGS
        assert set(attributes) <= ALLOWED.get(tag, set())
        address = attributes.get("href") or "/"
        assert address.startswith(("https://", "http://", "mailto:", "/", "#"))
        assert not address.startswith(("//", "/\\"))


def test_a_text_that_is_too_long_says_how_much_is_not_shown():
    html = to_html("x" * (MOST_CHARACTERS + 1_234))
    assert html.count("x") == MOST_CHARACTERS
    assert "1,234 more characters are not shown." in html
    assert "not shown" not in to_html("x" * MOST_CHARACTERS)


@pytest.mark.parametrize("opening", ["> ", "- "])
@pytest.mark.parametrize("depth", [MOST_NESTED // 2 - 2, MOST_NESTED // 2, MOST_NESTED, 500])
def test_no_depth_of_nesting_hides_a_text(opening, depth):
    assert "deep" in to_html(opening * depth + "deep")


WIDE = f"{'a|' * 100}\n{'-|' * 100}\n"
DEAR = {
    "cells": WIDE + "|\n" * 2_000,
    "cells in a quote": "> " + WIDE.replace("\n", "\n> ", 1) + "> |\n" * 2_000,
    "cells with spaces": WIDE.replace("-", " :-: ") + "|\n" * 2_000,
    "brackets": "[" * 20_000,
    "stars": "*a " * 6_000,
    "entities": "&" * 10_000,
}


@pytest.mark.parametrize("name", DEAR)
def test_a_text_that_takes_long_to_render_is_shown_as_typed(name, monkeypatch):
    monkeypatch.setattr(markdown._PARSER, "parse", lambda text: pytest.fail("It was parsed."))
    html = to_html.__wrapped__(DEAR[name])
    assert html.startswith("<p><em>This text is shown as it was typed, because it")
    assert len(html) < 6 * len(DEAR[name])
    assert html.count("|") >= DEAR[name].count("|")


def test_texts_below_the_limits_are_formatted():
    rows = MOST_CELLS // 101 - 2
    assert to_html(WIDE + "|\n" * (rows - 1)).count("<td>") == 100 * (rows - 1)
    assert to_html("*a* " * (MOST_MARKS // 2)).count("<em>") == MOST_MARKS // 2
    assert "typed" not in to_html("a\n---\n" * 5_000)


def test_many_parts_are_shown_as_typed():
    assert to_html("- a\n" * 10_000).startswith("<p><em>This text is shown as it was typed")


def test_a_text_is_rendered_once(monkeypatch):
    first = to_html("the *same* text")
    monkeypatch.setattr(markdown._PARSER, "parse", lambda text: pytest.fail("It was parsed."))
    assert to_html("the *same* text") is first


def test_a_template_shows_markdown():
    shown = Template("{% load text %}{{ words|markdown }}").render(Context({"words": "*a* <b>"}))
    assert shown.strip() == "<p><em>a</em> &lt;b&gt;</p>"
