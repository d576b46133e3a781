"""Every place that lists the verdicts lists those of the registry."""

import re

from snapshots.domain.judging.findings import REGISTRY, VERDICTS
from tests.stack import ROOT

STYLES = (ROOT / "static/css/components.css").read_text()


def test_the_readme_has_each_verdict_with_its_title_in_order():
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", (ROOT / "README.md").read_text(), re.M)
    titles = [(verdict.name, verdict.title) for verdict in REGISTRY]
    assert [row for row in rows if row[0] in VERDICTS] == titles


def test_the_style_sheet_has_each_verdict_in_its_colour():
    default = re.search(r"\.verdict \{\s+--verdict-color: var\(--color-([a-z]+)\)", STYLES)[1]
    rules = re.findall(
        r'data-verdict="([a-z-]+)"\] \{\s+--verdict-color: var\(--color-(\w+)\)', STYLES
    )
    colours = dict.fromkeys(VERDICTS, default) | dict(rules)
    assert colours == {verdict.name: verdict.colour for verdict in REGISTRY}


def test_every_colour_is_one_of_the_tokens():
    tokens = (ROOT / "static/css/tokens.css").read_text()
    assert all(f"--color-{verdict.colour}:" in tokens for verdict in REGISTRY)
