"""People's Markdown leads nowhere odd in a post-mortem, and ends where it ends."""

import pytest

from snapshots.web.post_mortem.markdown import as_markdown

FENCED = [
    *("[x](javascript:alert(1))", "[x](vbscript:x)", "[x](data:text/html,x)", "[x](ftp://a/b)"),
    *("[x](file:///etc/passwd)", "> [a]: https://example.org", "- [a]: javascript:alert(1)"),
    *("1. > [a]: https://example.org", "## Exhibits", "text\n===", "~~~\nopen", "> ## Exhibits"),
]
SHOWN = ["plain", "[x](https://example.org)", "- a\n- b", "~~~\nclosed\n~~~", "> quote", "*a* `b`"]


@pytest.mark.parametrize("text", FENCED)
def test_odd_markdown_is_shown_as_it_was_typed(text):
    fenced = as_markdown(text)
    assert text in fenced
    assert fenced.startswith("~~~")
    assert fenced != text


@pytest.mark.parametrize("text", SHOWN)
def test_usual_markdown_stays(text):
    assert as_markdown(text) == text
