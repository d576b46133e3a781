"""Make one page of each kind, with data behind it, for the walks through all pages."""

import io
import json
import zipfile
from pathlib import Path

from snapshots.readers.logs.native import write_lines
from tests.builders import simulated
from tests.damage import record_late
from tests.stack import Stack
from tests.web.api.uploading import zipped
from tests.webapp.over_http import Api

FURNISH = """
import json
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from snapshots.models import EngineJob, Job, Recording
from snapshots.services.topologies import save_topology
owner = User.objects.get(username="owner@localhost")
now = timezone.now()
sentence = 'The channel "A->C" is not in the header. Is its id spelled as there?'
refused = Recording.objects.create(
    owner=owner, name="payments.jsonl", source_name="payments.jsonl", format="cutline", size=4512,
    status="refused", defects_total=2,
    error={"title": "The input was refused", "line": 17, "field": "channel",
           "detail": f"Line 17: {sentence}"},
    defects=[
        {"code": "unknown-channel", "severity": "refused", "line": 17, "field": "channel",
         "sentence": sentence, "count": 1},
        {"code": "clock-skew", "severity": "kept", "line": 30, "field": "at", "count": 3,
         "sentence": '3 receives on "A->B" lie in time before the send.'}])
running = Recording.objects.create(owner=owner, name="checkpoints of friday", format="cutline",
    source_name="friday.jsonl.zst", size=812_345_678, status="running")
job = Job.objects.create(owner=owner, kind="ingest", state="running", recording=running,
    phase="matching messages", done=4_200_000, total=10_000_000, rate=412_345, progress=0.42,
    attempt=1, started_at=now - timedelta(seconds=10), heartbeat_at=now + timedelta(hours=1))
topology = save_topology(owner, {"name": "five banks",
    "processes": [{"id": name, "state": 1000} for name in "ABCDE"],
    "channels": [list(ends) for ends in ("AB", "BA", "BC", "CD", "DE", "EA", "AD")]})
banks = Recording.objects.get(slug="two-banks")
pressed = Recording.objects.get(slug="back-pressure")
twice = Recording.objects.get(slug="counted-twice")
from bench.synthetic_archive import fill
archived = fill(owner, 300).pk
other = User.objects.create(username="grace@example.org", email="grace@example.org")
from webapp.teams import services as teams
from webapp.teams.models import Membership
team = teams.create_team(owner, "payments")
Membership.objects.create(team=team, person=other, role="viewer")
_, invitation = teams.invite(team, owner, "barbara@example.org", "editor")
from snapshots.reviews import entries, incidents, timeline
review = incidents.open_review(owner, owner, {"title": "Orders were lost", "severity": "major"})
archive = EngineJob.objects.get(pk=archived)
from bench.synthetic_archive import poll_stuck
poll_stuck(archive, 30)
incidents.add_exhibit(owner, review, archive)
entries.write(owner, archive, {"text": "**Slow** sink.", "kind": "follow-up",
    "place": "checkpoint:30:0", "due_on": "2026-01-31"})
timeline.add_all(owner, review)
group = timeline.add_words(owner, review, {"text": "What we did", "is_group": True})
row = timeline.add_words(owner, review, {"text": "They restarted it.", "group": group.pk})
timeline.add_words(owner, review, {"text": "A rumour."})
shared = save_topology(team.account, {"name": "shared", "processes": [{"id": "A"}], "channels": []})
print(json.dumps({"refused": refused.pk, "running": running.pk, "job": job.pk,
    "topology": topology.pk, "banks": banks.pk, "pressed": pressed.pk, "twice": twice.pk,
    "batches": Recording.objects.get(slug="uncommitted-batch").pk,
    "fifty": Recording.objects.get(slug="fifty-processes").pk,
    "review": review.pk, "row": row.pk,
    "archived": archived, "other": other.pk, "team": team.pk, "shared": shared.pk,
    "invitation": invitation.rpartition("/")[2]}))
"""
MAPPING = {"process": "host", "kind": "event", "at": "ts", "peer": "to"}
PACKED = {
    "spark": "spark-streaming/window-agg-hdfs",
    "seatunnel": "seatunnel/synthetic-fake-to-localfile",
}


def furnish(stack: Stack, shared_data: Path) -> dict[str, str]:
    """Put data of each kind into the stack, and return the address of each page by a name."""
    api = Api(stack)
    made = json.loads(stack.manage("shell", "--verbosity", "0", "-c", FURNISH))
    made["late"] = _late(api)
    note = {"text": "Taken **late**.", "place": "snapshot:s1"}
    made["entry"] = api.post(f"/recordings/{made['late']}/entries", note).body["id"]
    hook = {"url": "https://hooks.example.org/cutline", "kinds": ["job.failed"]}
    made["webhook"] = api.post("/webhooks", hook).body["id"]
    api.post(f"/webhooks/{made['webhook']}/test")
    made["mapping"] = api.post("/mappings", {"name": "spans", "document": MAPPING}).body["id"]
    flink = zipped(shared_data / "flink" / "unaligned-orders", "files", "rest").read()
    made["flink"] = api.ingested(flink, "flink.zip")
    for engine, case in PACKED.items():
        made[engine] = api.ingested(_checkpoint_of(shared_data / f"{case}.zip"), f"{engine}.zip")
    unfinished = {
        "Upload-Length": "3200000000",
        "Upload-Metadata": "filename YWxsIG9mIEZyaWRheS5qc29ubA==",
    }
    assert api.call("POST", "/uploads", **{"Tus-Resumable": "1.0.0"}, **unfinished).status == 201
    for question in ("restore", "reordering"):
        job = api.post(f"/recordings/{made['banks']}/snapshots/s1/{question}").body["job"]
        api.ended(job)
    expression = {"expression": "A == 9000"}
    found = api.post(f"/recordings/{made['banks']}/predicates", expression)
    api.ended(found.body["job"])
    return {name: address.format(**made) for name, address in ADDRESSES.items()}


def _checkpoint_of(case: Path) -> bytes:
    """Return a package with the checkpoint of a case, without the expected answers beside it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(case) as given, zipfile.ZipFile(packed, "w") as package:
        for name in given.namelist():
            if "/checkpoint/" in name and not name.endswith("/"):
                package.writestr(name, given.read(name))
    return packed.getvalue()


def _late(api: Api) -> int:
    log = record_late(simulated()).log
    return api.ingested(b"".join(write_lines(log.header, log.events)), "taken late.jsonl")


# The keys of a state of the operator "enrich" that differ between the checkpoints of Flink.
KEYS = "since=0&operator=9c32e3838cee893dbb2fc90ccad79598&state=totalAmount&change=changed"
ADDRESSES = {
    "recordings": "/",
    "live": "/live",
    "workbench": "/recordings/{banks}",
    "workbench-fifty": "/recordings/{fifty}",
    "workbench-dataflow": "/recordings/{pressed}",
    "answer-flink": "/recordings/{flink}/answer",
    "answer-spark": "/recordings/{spark}/answer",
    "answer-log": "/recordings/{late}/answer",
    "workbench-flink": "/recordings/{flink}?t=0",
    "plan": "/recordings/{seatunnel}/plan",
    "progress": "/recordings/{running}",
    "refused": "/recordings/{refused}",
    "defects": "/recordings/{refused}/defects",
    "all-snapshots": "/recordings/{late}/snapshots",
    "snapshot": "/recordings/{banks}/snapshots/s1",
    "snapshot-inconsistent": "/recordings/{late}/snapshots/s1",
    "notes": "/recordings/{late}/notes",
    "entry-history": "/entries/{entry}/history",
    "snapshot-by-query": "/recordings/{banks}/snapshots?id=s1",
    "smallest-part": "/recordings/{late}/smallest-part?snapshot=s1",
    "proof": "/recordings/{banks}/proof?snapshot=s1",
    "restored": "/recordings/{banks}/restore?snapshot=s1&step=4",
    "states": "/recordings/{banks}/states?snapshot=s1",
    "process-states": "/recordings/{banks}/process-states?snapshot=s1",
    "barriers": "/recordings/{pressed}/barriers",
    "barriers-not-known": "/recordings/{batches}/barriers",
    "rules": "/learn/rules?channel=A-%3EB&rule=late_markers",
    "side-by-side": "/learn/side-by-side",
    "modes": "/learn/modes",
    "properties": "/recordings/{banks}/properties?property=conservation",
    "properties-refused": "/recordings/{banks}/properties?expression=A+%2B",
    "bisect": "/recordings/{fifty}/bisect?expression=p3+%3C+100&stable=1",
    "bisect-flink": "/recordings/{flink}/bisect?expression=snapshot+%3E%3D+%222%22",
    "predicates": "/recordings/{banks}/predicates",
    "predicates-answered": "/recordings/{banks}/predicates?expression=A+%3D%3D+9000",
    "checkpoints": "/recordings/{twice}/checkpoints",
    "checkpoint": "/recordings/{pressed}/checkpoints?checkpoint=1",
    "batches": "/recordings/{batches}/checkpoints",
    "compare": "/compare?recordings={twice},{pressed}",
    "compare-two": "/compare/two?left={late}&right={banks}",
    "compare-cuts": "/compare/two?left={banks}&left_snapshot=s1&right={banks}&right_step=4",
    "compare-choose": "/compare/two?left={banks}&left_snapshot=s1",
    "contents-flink": "/recordings/{flink}/contents",
    "contents-flink-checkpoint": "/recordings/{flink}/contents/1",
    "contents-spark": "/recordings/{spark}/contents",
    "contents-spark-checkpoint": "/recordings/{spark}/contents/0",
    "contents-seatunnel": "/recordings/{seatunnel}/contents",
    "contents-seatunnel-checkpoint": "/recordings/{seatunnel}/contents/0",
    "bytes-flink": "/recordings/{flink}/contents/1/bytes",
    "bytes-spark": "/recordings/{spark}/contents/0/bytes",
    "bytes-seatunnel": "/recordings/{seatunnel}/contents/0/bytes",
    "restore-check": "/recordings/{flink}/contents/check",
    "restore-check-checkpoint": "/recordings/{flink}/contents/1/check",
    "restored-tasks": "/recordings/{flink}/contents/1/restore?parallelism=3",
    "restore-plan": "/recordings/{flink}/contents/1/restore-plan?parallelism=3",
    "upgrade": "/recordings/{flink}/contents/1/upgrade",
    "difference": "/recordings/{flink}/contents/1/difference?since=0",
    "difference-keys": f"/recordings/{{flink}}/contents/1/difference/keys?{KEYS}",
    "reviews": "/reviews",
    "review": "/reviews/{review}",
    "review-row": "/reviews/{review}?edit={row}",
    "review-delete": "/reviews/{review}/delete",
    "follow-ups": "/follow-ups",
    "archive": "/archive",
    "archive-job": "/archive/{archived}",
    "archive-compare": "/archive/{archived}/compare",
    "archive-checkpoint": "/archive/{archived}/checkpoints/0/30",
    "archive-front": "/archive/{archived}/checkpoints/0/30/front",
    "bisect-archived": "/archive/{archived}/bisect",
    "archive-notes": "/archive/{archived}/notes",
    "archive-delete": "/archive/{archived}/delete",
    "learn": "/learn",
    "be-the-process": "/learn/process?seed=4&d=-.-.-.rac.n.-.-.-&why=1",
    "topologies": "/topologies",
    "topology": "/topologies/{topology}",
    "topology-delete": "/topologies/{topology}/delete",
    "topology-new": "/topologies/new",
    "dataflow-new": "/topologies/new?kind=dataflow",
    "mappings": "/mappings",
    "mapping-new": "/mappings/new",
    "mapping": "/mappings/{mapping}",
    "mapping-delete": "/mappings/{mapping}/delete",
    "jobs": "/jobs",
    "job": "/jobs/{job}",
    "account": "/account",
    "teams": "/teams",
    "team": "/teams/{team}",
    "team-delete": "/teams/{team}/delete",
    "team-join": "/teams/join/{invitation}",
    "sharing": "/topologies/{shared}/sharing",
    "public-link-refused": "/public/not-a-link",
    "sharing-alone": "/recordings/{late}/sharing",
    "recordings-of-team": "/?team={team}",
    "operator-team": "/operator/teams/{team}",
    "activity": "/account/activity",
    "notifications": "/account/notifications",
    "webhook": "/account/notifications/webhooks/{webhook}",
    "webhook-delete": "/account/notifications/webhooks/{webhook}/delete",
    "operator": "/operator",
    "people": "/operator/people",
    "person": "/operator/people/{other}",
    "person-close": "/operator/people/{other}/close",
    "hand-over": "/operator/people/{other}/hand-over",
    "audit": "/operator/audit",
    "rename": "/recordings/{late}/rename",
    "delete": "/recordings/{late}/delete",
    "api": "/api/docs",
    "sign-in": "/sign-in",
    "not-found": "/recordings/999999",
}
# Pages whose template and elements another address shows, too: only the long run walks them.
ALIKE = {
    *("answer-spark", "archive-delete", "archive-notes", "bisect-archived", "bisect-flink"),
    *("bytes-seatunnel", "bytes-spark", "checkpoint", "compare-choose", "compare-two"),
    *("contents-seatunnel-checkpoint", "contents-spark", "mapping-delete", "person-close"),
    *("predicates", "properties-refused", "recordings-of-team", "sharing-alone"),
    *("snapshot-by-query", "topology-delete", "topology-new", "webhook-delete", "workbench-flink"),
}
# Pages in which axe-core looks for faults each time; in the others only the long run asks it.
EXAMINED = {
    *("recordings", "live", "workbench", "workbench-dataflow", "answer-flink", "refused"),
    *("snapshot-inconsistent", "notes", "proof", "properties", "checkpoints", "compare"),
    *("contents-flink-checkpoint", "restore-plan", "difference", "review", "archive-job"),
    *("archive-front", "topology", "job", "account", "team", "operator", "sign-in"),
}
