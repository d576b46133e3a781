"""A document of notes holds its claims with their evidence, and nothing that a page must not."""

import base64
import copy
import hashlib
import io
import json
import re
import zipfile
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from snapshots.domain.simulators.samples import two_banks
from snapshots.reviews import entries, incidents, proving, small_parts, timeline
from tests.builders import a_run, simulated
from tests.damage import DAMAGES
from tests.hostile.payloads import ALL
from tests.web.given import a_person, a_ready_recording, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

PLACES = (
    "snapshot:s1",
    "moment:time:2000",
    "moment:order:7",
    "cut:A=3:B=2",
    "event:B:2",
    "message:A-%3EB:m1",
    "channel:A-%3EB",
)


def noted(user, subject, place, text="look"):
    return entries.write(user, subject, {"text": text, "place": place})


def fetched(client, subject, format="html"):
    answer = client.get(f"/recordings/{subject.pk}/notes/document?format={format}")
    assert answer.status_code == 200, answer.content[-2000:]
    return answer.content.decode() if format == "html" else answer.content


def data_of(html):
    [block] = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(block)


def test_every_claim_of_a_document_is_derived_again_from_its_data(client, ada, banks, checker):
    for place in PLACES:
        noted(ada, banks, place)
    html = fetched(client, banks)
    data = data_of(html)
    answers = checker.checked(data)
    outcomes = [answer["outcome"] for answer in answers]
    assert outcomes.count("holds") == len(outcomes) - 1, answers
    assert outcomes.count("not checked here") == 1, "a channel: the moment is not kept"
    for claim in data["claims"]:
        assert f'data-claim="{claim["id"]}"' in html


def numbers_in(value, path=()):
    """Yield the path of each number, and of each text that begins with a digit, in some JSON."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from numbers_in(item, (*path, key))
        return
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number or (path[-1] in ("state", "value") and value[:1].isdigit()):
        yield path


def texts_in(value, path=()):
    """Yield the path of each text in some JSON: names, ids, kinds, states, values and units."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from texts_in(item, (*path, key))
    elif isinstance(value, str):
        yield path


def one_more(value):
    """Return a number, or the text of one, that is greater by one."""
    return str(int(value) + 1) if isinstance(value, str) else value + 1


def another_text(value):
    """Return another text; a JSON text, such as a state, stays JSON."""
    try:
        json.loads(value)
    except ValueError:
        return f"{value}x"
    return json.dumps(f"not {value}")


def changed(data, path, change=one_more):
    """Return the data with one value that is changed, by default a number that is greater."""
    other = copy.deepcopy(data)
    holder = other
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = change(holder[path[-1]])
    return other


def is_named(path, patterns):
    """Tell whether one of the patterns, such as logs/*/events/*/*/at, names a number."""
    parts = tuple(map(str, path))
    return any(
        len(pattern) == len(parts)
        and all(want in ("*", part) for want, part in zip(pattern, parts, strict=True))
        for pattern in patterns
    )


def unnoticed(checker, data, values_in=numbers_in, change=one_more):
    """Return the paths of the values of which a change makes no claim differ."""
    paths = list(values_in({"logs": data["logs"], "checkpoints": data["checkpoints"]}))
    assert len(paths) > 40
    kept = []
    for path in paths:
        outcomes = [answer["outcome"] for answer in checker.checked(changed(data, path, change))]
        if "differs" not in outcomes:
            kept.append(path)
    return kept


def not_listed(data, kept):
    """Return the paths that the document does not name as values on which no claim rests."""
    patterns = [tuple(item["path"].split("/")) for item in data["not_claimed"]]
    return [path for path in kept if not is_named(path, patterns)]


def test_each_changed_number_breaks_a_claim_or_is_named_as_one_that_none_rests_on(
    client, ada, banks, checker
):
    for place in PLACES:
        noted(ada, banks, place)
    data = data_of(fetched(client, banks))
    kept = unnoticed(checker, data)
    assert not_listed(data, kept) == []
    assert any(path[-1] == "at" for path in kept), "or the list names what claims rest on"


def test_each_changed_text_breaks_a_claim_or_is_named_as_one_that_none_rests_on(
    client, ada, banks, checker
):
    for place in PLACES:
        noted(ada, banks, place)
    data = data_of(fetched(client, banks))
    kept = unnoticed(checker, data, texts_in, another_text)
    assert not_listed(data, kept) == []


def test_each_changed_number_of_a_claim_is_noticed(client, ada, banks, checker):
    for place in PLACES:
        noted(ada, banks, place)
    data = data_of(fetched(client, banks))
    for path in list(numbers_in(data["claims"])):
        other = data | {"claims": changed(data["claims"], path)}
        assert "differs" in [answer["outcome"] for answer in checker.checked(other)], path


def test_each_changed_text_of_what_a_claim_says_is_noticed(client, ada, banks, checker):
    for place in PLACES:
        noted(ada, banks, place)
    data = data_of(fetched(client, banks))
    for number, claim in enumerate(data["claims"]):
        for path in texts_in(claim["says"], (number, "says")):
            other = data | {"claims": changed(data["claims"], path, another_text)}
            assert "differs" in [answer["outcome"] for answer in checker.checked(other)], path


def claim_about(data, place):
    [claim] = [claim for claim in data["claims"] if claim["place"] == place]
    return claim


def test_claims_have_the_values_and_states_that_their_sentences_state(client, ada, banks):
    for place in (*PLACES, "event:B:0"):
        noted(ada, banks, place)
    data = data_of(fetched(client, banks))
    event = claim_about(data, "event:B:2")
    assert f"({event['says']['value']})" in event["sentence"]
    assert event["sentence"].endswith(f"state {event['says']['state']}")
    message = claim_about(data, "message:A-%3EB:m1")
    [way] = message["says"]["ways"]
    assert f"({way['value']})" in message["sentence"]
    assert way["arrived"] is True
    snapshot = claim_about(data, "snapshot:s1")
    held = [value for pairs in snapshot["says"]["values"].values() for _, value in pairs]
    assert held
    assert None not in held


def test_a_message_in_flight_at_the_end_is_claimed_to_be(client, ada, checker):
    row = a_ready_recording(ada, a_run().send("p->q", "m", 5).log())
    noted(ada, row, "message:p-%3Eq:m")
    data = data_of(fetched(client, row))
    [way] = claim_about(data, "message:p-%3Eq:m")["says"]["ways"]
    assert (way["received"], way["arrived"]) == (None, False)
    assert {answer["outcome"] for answer in checker.checked(data)} == {"holds"}


def test_the_verdict_in_a_document_is_the_one_that_cutline_keeps(client, ada, banks, checker):
    banks.snapshots.update(verdict="orphan", verdict_counts=[{"verdict": "orphan", "count": 1}])
    noted(ada, banks, "snapshot:s1")
    answers = checker.checked(data_of(fetched(client, banks)))
    wrong = [sentence for answer in answers for sentence in answer["differences"]]
    assert 'verdict: claimed "orphan", derived "consistent".' in wrong


def test_a_large_recording_is_not_checked_and_says_why(client, ada, banks, checker, monkeypatch):
    monkeypatch.setattr(proving, "MOST_EVENTS", 5)
    noted(ada, banks, "snapshot:s1")
    html = fetched(client, banks)
    data = data_of(html)
    assert data["logs"] == {}
    assert {answer["outcome"] for answer in checker.checked(data)} == {"not checked here"}
    assert f"Not in this document: {banks.event_count} events." in html
    claim = claim_about(data, "snapshot:s1")
    assert claim["sentence"].startswith("snapshot s1: consistent")
    assert "That snapshot s1 is consistent is not checked here" in claim["why_not"]
    assert f"it rests on all {banks.message_count} messages" in claim["why_not"]
    assert "only the Cutline that wrote this file can show it" in claim["why_not"]
    assert claim["why_not"] in unescape(html)
    packed = zipfile.ZipFile(io.BytesIO(fetched(client, banks, "markdown")))
    assert "is consistent is not checked here" in packed.read("post-mortem.md").decode()


@pytest.mark.parametrize("verdict", DAMAGES)
def test_the_part_of_a_large_recording_shows_its_finding(
    client, ada, checker, monkeypatch, verdict
):
    row = a_ready_recording(ada, DAMAGES[verdict](simulated()).log)
    monkeypatch.setattr(proving, "MOST_EVENTS", 5)
    noted(ada, row, "snapshot:s1")
    html = fetched(client, row)
    data = data_of(html)
    [part] = [claim for claim in data["claims"] if claim.get("is_part")]
    outcomes = {
        claim["id"]: answer["outcome"]
        for claim, answer in zip(data["claims"], checker.checked(data), strict=True)
    }
    assert outcomes.pop(part["id"]) == "holds"
    assert set(outcomes.values()) == {"not checked here"}
    events = sum(map(len, data["logs"][part["evidence"]]["events"]))
    assert events < row.event_count / 2
    worst = row.snapshots.get(snapshot="s1").verdicts[0]
    assert part["says"]["counts"][worst["verdict"]] >= 1
    assert f"This file has {events} of {row.event_count} events." in unescape(html)
    assert part["sentence"].endswith(worst["sentence"])
    part["says"]["counts"][worst["verdict"]] += 1
    assert [a["outcome"] for a in checker.checked(data)].count("differs") == 1


def test_what_has_no_part_in_the_file_says_why(client, ada, monkeypatch):
    row = a_ready_recording(ada, DAMAGES["orphan"](simulated()).log)
    monkeypatch.setattr(proving, "MOST_EVENTS", 5)
    noted(ada, row, "snapshot:s1")
    monkeypatch.setattr(small_parts, "MOST_EVENTS", 1)
    assert "more than the 1 that a document holds of a part" in fetched(client, row)
    monkeypatch.setattr(small_parts, "MOST_PARTS", 0)
    assert "A document holds 0 parts of recordings." in fetched(client, row)


def test_a_large_recording_is_named_by_the_hash_of_its_upload(client, ada, monkeypatch, data_dir):
    row = a_ready_recording(ada, upload="kept")
    monkeypatch.setattr(proving, "MOST_EVENTS", 5)
    noted(ada, row, "snapshot:s1")
    assert "Its upload is not kept, so that only the Cutline" in fetched(client, row)
    (data_dir / "uploads" / "kept").write_bytes(b"the log")
    assert hashlib.sha256(b"the log").hexdigest() in fetched(client, row)


def test_the_same_notes_give_the_same_bytes(client, ada, banks):
    noted(ada, banks, "snapshot:s1")
    for format in ("html", "markdown"):
        assert fetched(client, banks, format) == fetched(client, banks, format)


def test_the_policy_lets_in_only_the_scripts_and_the_style_of_the_file(client, ada, banks):
    noted(ada, banks, "snapshot:s1")
    html = fetched(client, banks)
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', html)
    policy = unescape(policy)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    bodies = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", html, re.DOTALL)
    assert len(bodies) == 3
    for body in bodies:
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "http://" not in policy
    assert not re.findall(r"<(?:img|link|iframe|script)[^>]*(?:src|href)=", html)


def test_markdown_has_a_well_formed_diagram_for_each_figure(client, ada, banks):
    for place in PLACES:
        noted(ada, banks, place)
    archive = zipfile.ZipFile(io.BytesIO(fetched(client, banks, "markdown")))
    text = archive.read("post-mortem.md").decode()
    figures = [name for name in archive.namelist() if name.endswith(".svg")]
    assert len(figures) == 6
    for name in figures:
        assert f"({name})" in text
        root = ElementTree.fromstring(archive.read(name))
        assert len(root.findall("{*}circle")) > 5
        assert root.find("{*}polyline") is not None


HOSTILE = [payload for payload in ALL if "\0" not in payload]


def test_hostile_text_stays_text_in_both_formats(client, ada):
    names = [name for name in dict.fromkeys(HOSTILE) if 0 < len(name) <= 60][:40]
    run = a_run(dict.fromkeys(names, 1), {f"c{n}": (a, b) for n, (a, b) in enumerate(ring(names))})
    for place, name in enumerate(names):
        run = run.send(f"c{place}", name, 1).record(name, "</script><script>alert(1)</script>")
    subject = a_ready_recording(ada, run.log())
    for payload in HOSTILE:
        entries.write(ada, subject, {"text": payload})
    entries.write(ada, subject, {"text": "look", "place": "moment:order:9"})
    html = fetched(client, subject)
    assert html.count("<script") == 3
    assert html.count("</script") == 3
    visible = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert visible.count("<style") == 1
    assert not re.findall(r"<[^>]*\son\w+=", visible)
    data_of(html)
    archive = zipfile.ZipFile(io.BytesIO(fetched(client, subject, "markdown")))
    for name in archive.namelist():
        if name.endswith(".svg"):
            root = ElementTree.fromstring(archive.read(name))
            tags = {element.tag.partition("}")[2] for element in root.iter()}
            assert tags <= {"svg", "rect", "line", "text", "circle", "polygon", "title", "polyline"}
    rendered = MarkdownIt("commonmark", {"html": True}).render(
        archive.read("post-mortem.md").decode()
    )
    assert not re.findall(r"<(?:script|img (?!src=\"figures/)|svg|iframe|style)", rendered)
    assert not re.findall(r"href=\"(?!https?:|mailto:|/|#)[^\"]*", rendered)


def test_a_link_to_a_path_of_the_server_is_text_in_a_file(client, ada, banks):
    noted(ada, banks, "", "[here](/recordings/7 'a') [there](https://a.example/) [up](#limits)")
    html = fetched(client, banks)
    assert "here (/recordings/7)" in html
    assert 'href="/' not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert 'href="https://a.example/"' in html
    packed = zipfile.ZipFile(io.BytesIO(fetched(client, banks, "markdown")))
    rendered = MarkdownIt("commonmark").render(packed.read("post-mortem.md").decode())
    assert 'href="/' not in rendered
    assert "[here](/recordings/7 'a')" in rendered


def ring(names):
    return list(zip(names, [*names[1:], names[0]], strict=True))


def test_an_outsider_gets_404_and_a_wrong_format_is_refused(client, ada, banks):
    eve = signed_in(a_person("eve@example.org"))
    assert eve.get(f"/recordings/{banks.pk}/notes/document").status_code == 404
    answer = client.get(f"/recordings/{banks.pk}/notes/document?format=pdf")
    assert answer.status_code == 422


def test_a_post_mortem_has_the_review_without_its_hidden_rows(client, ada, banks, api, checker):
    review = incidents.open_review(
        ada, ada, {"title": "Orders <b>were</b> lost", "summary": "It *began*."}
    )
    incidents.add_exhibit(ada, review, banks)
    noted(ada, banks, "snapshot:s1", "shown")
    noted(ada, banks, "event:B:2", "a hidden rumour")
    timeline.add_all(ada, review)
    timeline.add_words(ada, review, {"text": "They restarted it."})
    review.rows.filter(entry__text="a hidden rumour").update(is_hidden=True)
    answer = client.get(f"/reviews/{review.pk}/post-mortem")
    html = answer.content.decode()
    assert answer["Content-Disposition"] == f'attachment; filename="post-mortem-{review.pk}.html"'
    visible = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "<h1>Orders &lt;b&gt;were&lt;/b&gt; lost</h1>" in visible
    assert "It <em>began</em>." in visible
    assert "They restarted it." in visible
    assert "a hidden rumour" not in html
    assert "1 row of the timeline hidden by the authors" in visible
    assert "<dt>to detect</dt><dd>not known</dd>" in visible
    answers = checker.checked(data_of(html))
    assert [answer["outcome"] for answer in answers] == ["holds", "holds"]
    assert api.get(f"/api/reviews/{review.pk}/post-mortem").content.decode() == html
    packed = api.get(f"/api/reviews/{review.pk}/post-mortem?format=markdown").content
    text = zipfile.ZipFile(io.BytesIO(packed)).read("post-mortem.md").decode()
    assert "a hidden rumour" not in text
    assert "1 row of the timeline hidden" in text


def test_the_day_of_a_follow_up_is_in_the_timeline_and_in_the_post_mortem(client, ada, banks):
    review = incidents.open_review(ada, ada, {"title": "Orders were lost"})
    incidents.add_exhibit(ada, review, banks)
    entries.write(ada, banks, {"text": "look", "kind": "follow-up", "due_on": "2026-12-01"})
    timeline.add_all(ada, review)
    for page in (f"/reviews/{review.pk}", f"/recordings/{banks.pk}/notes/document"):
        assert "due 2026-12-01" in client.get(page).content.decode()
    address = f"/reviews/{review.pk}/post-mortem?format="
    assert "due 2026-12-01" in client.get(f"{address}html").content.decode()
    packed = io.BytesIO(client.get(f"{address}markdown").content)
    assert "due 2026\\-12\\-01" in zipfile.ZipFile(packed).read("post-mortem.md").decode()


def test_a_cut_of_a_derived_recording_does_not_say_that_channels_are_empty(client, ada):
    log = two_banks()
    extra = {**log.header.extra, "derived": True}
    derived = a_ready_recording(ada, log._replace(header=replace(log.header, extra=extra)))
    whole = a_ready_recording(ada)
    for subject in (derived, whole):
        noted(ada, subject, "moment:order:0")
    assert "in flight at the cut: not known." in fetched(client, derived)
    assert "in flight at the cut: none." in fetched(client, whole)
