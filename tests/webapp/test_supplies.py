"""The operator's page, the API and the metrics say the same of what runs out first, and when."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.db import OperationalError, connection
from prometheus_client.parser import text_string_to_metric_families

from snapshots import allowances
from snapshots.models import Collector, Job, Recording
from tests.web.given import a_client, a_person
from tests.webapp.test_workers_keep_up import with_workers
from webapp.edge.bodies import UnderWay
from webapp.operating import connections, disk, history, observed, presence, report, web_notes
from webapp.operating.noted import Noted
from webapp.operating.presence import Taken, Web
from webapp.operating.redis_reading import client as redis_client
from webapp.operating.supplies import allowed, connecting, every, headline, machines
from webapp.teams.services import create_team

pytestmark = pytest.mark.django_db

HOUR, DAY = 3600, 86_400
NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def live(live_redis, settings):
    """Provide a real Redis in which nothing was measured, and one worker lives."""
    settings.REDIS_URL = live_redis.empty_redis_url
    with redis_client() as redis:
        redis.flushdb()
        presence.note_worker(4700, presence.now(), [4711])
        yield redis
        redis.flushdb()


@pytest.fixture
def an_operator(db):
    user = a_person("operator@example.org")
    user.is_staff = True
    user.save()
    return user


def named(supplies, name: str):
    return next(supply for supply in supplies if supply["name"] == name)


def measured_disk(redis, grew_by: int, hours: float = 30) -> None:
    """Put samples of this machine's disks, which grew by so many bytes an hour until now."""
    host, now = socket.gethostname(), time.time()
    for index in range(int(hours * 2), 0, -1):
        age = index / 2
        disks = {
            each.holds: each._asdict() | {"used": each.used - round(age * grew_by)}
            for each in disk.disks()
        }
        sample = {"at": int(now - age * HOUR), "disks": disks}  # at least as old
        redis.rpush(f"{history.KEY}:{host}", json.dumps(sample))


def measured(redis, **members) -> None:
    """Put one sample of what all machines share; ``hours`` is how long ago that was."""
    at = int(time.time() - members.pop("hours") * HOUR)
    redis.rpush(history.KEY, json.dumps({"at": at, "redis": 0, "stored": {}} | members))


# --- measuring ---------------------------------------------------------------------------------


def test_a_machine_is_measured_once_in_half_an_hour(live, data_dir):
    history.measure()
    history.measure()
    (samples,) = history.machines(live).values()
    assert [list(sample["disks"]) for sample in samples] == [["data, store and uploads"]]
    assert len(history.shared(live)) == 1
    assert 0 < live.ttl(f"{history.KEY}:turn") <= history.SECONDS_BETWEEN


def test_a_week_is_kept_and_no_more(live, data_dir):
    for hours in range(400, 0, -1):
        measured(live, hours=hours / 2)
    history.measure()
    kept = history.shared(live)
    assert len(kept) == history.KEPT == 338
    assert kept[-1]["at"] - kept[0]["at"] >= 7 * DAY
    assert live.ttl(history.KEY) > 6 * DAY


def test_a_measurement_that_failed_is_made_again_at_once(live, data_dir, monkeypatch):
    def broken():
        raise OSError("the disk is gone")

    whole = disk.disks
    monkeypatch.setattr(disk, "disks", broken)
    with pytest.raises(OSError, match="gone"):
        history.measure()
    monkeypatch.setattr(disk, "disks", whole)
    history.measure()
    assert len(history.machines(live)[socket.gethostname()]) == 1


def test_samples_of_the_future_do_not_count(live):
    """A clock that was set back leaves them."""
    measured(live, hours=1)
    measured(live, hours=-1)
    assert len(history.shared(live)) == 1


# --- disks -------------------------------------------------------------------------------------


@pytest.fixture
def a_small_disk(data_dir, settings, monkeypatch) -> Iterator[None]:
    """Put DATA_DIR on a disk of 16 MB: a real one, or where none can be mounted one that says so.

    Store and uploads stay on the other disk.
    """
    folder = data_dir / "small"
    folder.mkdir()
    settings.DATA_DIR, settings.MIN_FREE_BYTES = folder, 2**20
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m,nr_inodes=1000", "tmpfs", str(folder)]
    is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
    if not is_mounted:
        said = disk.Disk("data", str(folder), 2**24, 0, 2**24, 1000, 990)
        others = [each for each in disk.disks() if "store" in each.holds]
        monkeypatch.setattr(disk, "disks", lambda: [said, *others])
    yield
    if is_mounted:
        subprocess.run(["umount", folder], check=True)


def test_the_disk_that_ends_first_is_first(live, a_small_disk, data_dir):
    measured_disk(live, grew_by=2**18)
    first = every(Noted.read())[0]
    assert (first["name"], first["of"], first["state"]) == ("disk", "data", "soon")
    hours = (datetime.fromisoformat(first["runs_out_at"]).timestamp() - time.time()) / HOUR
    assert 59 < hours < 61  # 15 MiB, of which an hour takes 256 KiB
    assert first["answer"].startswith("runs out in 2 d ")
    assert "16.8 MB of 16.8 MB are free, and uploads leave 1.05 MB free" in first["basis"]
    assert "Over the last 6 h, 1.57 MB were added: at this rate it ends in 2 d" in first["basis"]
    assert len(first["rates"]) == 3


def test_a_disk_that_is_full_has_run_out(live, a_small_disk, settings):
    settings.MIN_FREE_BYTES = 2**24
    first = every(Noted.read())[0]
    assert (first["name"], first["state"], first["answer"]) == ("disk", "out", "has run out")
    assert headline(every(Noted.read())) == "Disk of data: has run out."


def test_a_disk_that_does_not_grow_does_not_run_out(live, data_dir):
    measured_disk(live, grew_by=-(10**9))
    supply = named(every(Noted.read()), "disk")
    assert supply["runs_out_at"] is None
    assert supply["answer"] == "does not run out at the present rate"
    assert "became free" in supply["basis"]


def test_with_too_little_measured_nothing_is_forecast(live, data_dir):
    measured_disk(live, grew_by=10**9, hours=0.5)
    supply = named(every(Noted.read()), "disk")
    assert (supply["state"], supply["rates"]) == ("unknown", [])
    assert supply["answer"] == (
        "when it runs out is not known: measured for 30 min; a forecast needs 6 h"
    )


def test_a_disk_of_another_size_is_another_disk(live, data_dir, monkeypatch):
    measured_disk(live, grew_by=10**9)
    (whole,) = disk.disks()
    monkeypatch.setattr(disk, "disks", lambda: [whole._replace(total=whole.total + 1)])
    assert named(every(Noted.read()), "disk")["state"] == "unknown"


def test_a_full_table_of_files_runs_out(live, data_dir, monkeypatch):
    (whole,) = disk.disks()
    monkeypatch.setattr(disk, "disks", lambda: [whole._replace(files=1000, files_free=0)])
    assert named(every(Noted.read()), "inodes")["state"] == "out"
    monkeypatch.setattr(disk, "disks", lambda: [whole._replace(files=0, files_free=0)])
    assert not [each for each in every(Noted.read()) if each["name"] == "inodes"]


def test_other_machines_are_said_as_they_were_measured_last(live, data_dir):
    now = time.time()
    (here,) = disk.disks()
    told = here._replace(holds="data", path="/far", used=60, total=100, free=40)._asdict()
    for age in range(24, -1, -1):
        disks = {"data": told | {"used": told["used"] - age}}
        sample = {"at": round(now - age * HOUR), "disks": disks}
        live.rpush(f"{history.KEY}:far", json.dumps(sample))
    titles = [each["title"] for each in every(Noted.read()) if each["name"] == "disk"]
    assert any(title.endswith("on far") for title in titles)
    assert any(title.endswith(f"on {socket.gethostname()}") for title in titles)
    live.delete(f"{history.KEY}:far")
    live.rpush(f"{history.KEY}:far", json.dumps({"at": round(now - DAY), "disks": {"data": told}}))
    supply = next(each for each in machines.disks(Noted.read(), now) if each["of"].endswith("far"))
    assert supply["answer"].endswith("far has measured nothing for 1 d")


def test_an_object_store_is_not_known(settings, data_dir):
    assert list(machines.object_store()) == []
    settings.UPLOADS_URL = "s3://bucket/uploads"
    (supply,) = machines.object_store()
    assert supply["state"] == "unknown"


# --- people and teams --------------------------------------------------------------------------


def stores(owner, size: int) -> None:
    Recording.objects.create(owner=owner, name="banks", upload="u", size=size, stored_bytes=0)


def test_the_account_that_reaches_its_limit_first_is_named(live, data_dir, settings):
    settings.MAX_STORED_BYTES = 1000
    ada, bob, team = (
        a_person(),
        a_person("bob@example.org"),
        create_team(a_person(), "payments").account,
    )
    stores(ada, 900)
    stores(bob, 500)
    stores(team, 100)
    used = {str(ada.pk): 899, str(bob.pk): 200, str(team.pk): 100}
    measured(live, hours=24, stored=used)
    first, second = allowed.stored(Noted.read(), time.time())
    assert (first["of"], first["account"]) == ("bob@example.org", bob.pk)
    assert first["path"] == f"/operator/people/{bob.pk}"
    hours = (datetime.fromisoformat(first["runs_out_at"]).timestamp() - time.time()) / HOUR
    assert 39 < hours < 41  # 500 are left, and 300 came in a day
    assert second["of"] == "ada@example.org"


def test_a_full_team_has_run_out_and_its_page_is_named(live, data_dir, settings):
    settings.MAX_STORED_BYTES = 100
    team = create_team(a_person(), "payments").account
    stores(team, 100)
    (supply,) = allowed.stored(Noted.read(), time.time())
    assert supply["state"] == "out"
    assert supply["path"] == f"/operator/teams/{team.pk}"


def test_what_is_used_is_what_the_limit_counts(live, data_dir, settings):
    settings.MAX_STORED_BYTES = 10_000
    ada = a_person()
    Recording.objects.create(owner=ada, name="a", upload="u", size=500, stored_bytes=40)
    Recording.objects.create(owner=ada, name="b", upload="", size=999, stored_bytes=3)
    (settings.UPLOADS_DIR / "growing").write_bytes(b"1234567")
    Recording.objects.create(owner=ada, name="c", journal="growing")
    (filled,) = allowances.fullest("stored_bytes", 5)
    assert filled.used == allowances.stored_bytes(ada) == 550


def test_who_has_most_jobs_and_collectors_is_named(data_dir, settings):
    settings.MAX_OPEN_JOBS, settings.MAX_COLLECTORS = 2, 10
    ada = a_person()
    Job.objects.create(kind="ingest", owner=ada)
    Job.objects.create(kind="ingest", owner=ada)
    Collector.objects.create(owner=ada, engine="flink", url="http://jobmanager:8081")
    (jobs,) = allowed.fullest(allowed.JOBS)
    assert (jobs["state"], jobs["answer"]) == ("out", "ada@example.org has 2 of 2")
    (collectors,) = allowed.fullest(allowed.COLLECTORS)
    assert (collectors["state"], collectors["answer"]) == ("ok", "ada@example.org has 1 of 10")


def test_without_a_limit_nobody_runs_out(data_dir, settings):
    settings.MAX_OPEN_JOBS = 0
    Job.objects.create(kind="ingest", owner=a_person())
    (jobs,) = allowed.fullest(allowed.JOBS)
    assert (jobs["state"], jobs["answer"]) == ("ok", "nobody who has a limit uses any")


# --- processes and services --------------------------------------------------------------------


def test_the_peak_of_places_for_bodies_is_kept(settings, monkeypatch):
    monkeypatch.setattr(observed, "bodies", observed.Level())
    under_way = UnderWay()

    class Body:
        is_of_events = False

    bodies = [Body() for _ in range(3)]
    for person, body in enumerate(bodies):
        under_way.begin(body, person)
    for body in bodies:
        under_way.end(body)
    web = web_notes.this_process(presence.now())
    assert (web.bodies.now, web.bodies.most, web.bodies.limit) == (0, 3, 64)
    (supply,) = machines.bodies(Noted(webs=[web]))
    assert (supply["state"], supply["answer"]) == ("ok", "at most 3 of 64 were taken at once")


def a_web(pid: int, most: int, now: int = 1) -> Web:
    at = "2026-11-29T12:00:00+00:00"
    return Web("a", pid, at, 1, Taken(now, 100, most, at), Taken(0, 64, 0, at))


def test_the_web_process_that_came_nearest_to_its_limit_is_shown():
    (supply,) = machines.open_files(Noted(webs=[a_web(1, 20), a_web(2, 90), a_web(3, 30)]))
    assert (supply["of"], supply["state"]) == ("a pid 2", "near")
    assert "Of 3 web processes, pid 2 on a came nearest." in supply["basis"]
    assert "That was on 2026-11-29 12:00 UTC." in supply["basis"]
    (supply,) = machines.open_files(Noted(webs=[a_web(1, 100, now=100)]))
    assert supply["state"] == "out"


def test_without_a_note_of_a_web_process_it_is_not_known():
    (supply,) = machines.bodies(Noted())
    assert supply["answer"].endswith("no web process has noted itself in Redis")


@pytest.mark.slow
def test_a_real_web_process_notes_what_it_has_open(server, settings):
    settings.REDIS_URL = server.redis_url

    def noted():
        return Noted.read().webs

    server.wait_for("the note of the web process", noted)
    (web,) = noted()
    assert web.pid == server.processes["server"].pid
    assert 0 < web.files.most < web.files.limit
    assert web.bodies.limit == 64


def test_the_memory_of_redis_is_beside_its_limit(live):
    noted = Noted.read()
    (supply,) = connecting.redis_memory(noted, time.time())
    assert supply["limit"] == noted.memory["total_system_memory"]
    assert "Redis has no maxmemory" in supply["basis"]
    live.config_set("maxmemory", 10**9)
    try:
        (supply,) = connecting.redis_memory(Noted.read(), time.time())
        assert supply["limit"] == 10**9
    finally:
        live.config_set("maxmemory", 0)


@pytest.mark.only("postgres", reason="SQLite has no limit of connections")
def test_the_connections_of_postgresql_are_counted():
    (supply,) = connecting.connections(Noted())
    assert supply["limit"] == 197
    assert 1 <= supply["used"] < 197
    assert supply["answer"] == "1 worker and 1 web process may open 37 of 197 at once"
    (supply,) = connecting.connections(with_workers(20))
    assert supply["state"] == "near"
    (supply,) = connecting.database_disk()
    assert (supply["state"], supply["limit"]) == ("unknown", None)
    assert supply["used"] > 10**6


@pytest.mark.only("sqlite", reason="it is about SQLite")
def test_sqlite_has_no_connections_to_run_out_of():
    assert list(connecting.connections(Noted())) == list(connecting.database_disk()) == []


def test_a_worker_may_open_what_its_parts_may():
    assert connections.of_a_worker(1) == 17
    assert connections.of_a_worker(4) == 23


# --- one answer --------------------------------------------------------------------------------


def test_page_api_and_metrics_say_the_same(live, client, an_operator, data_dir, settings):
    settings.METRICS_TOKEN, settings.MAX_STORED_BYTES = "m" * 32, 10**6
    measured_disk(live, grew_by=10**9)
    ada = a_person()
    stores(ada, 999_000)
    measured(live, hours=24, stored={str(ada.pk): 900_000})
    health = a_client(an_operator).get("/api/operator/health").json()
    first = health["supplies"][0]
    assert first["of"] == "ada@example.org"
    assert health["runs_out_first"].startswith(
        "Storage allowance of ada@example.org: runs out in 1"
    )
    client.force_login(an_operator)
    page = client.get("/operator").content.decode()
    shown = page.partition('class="foresight-answer">')[2].partition("</p>")[0]
    assert shown.partition(" in 1")[0] == health["runs_out_first"].partition(" in 1")[0]
    text = client.get("/metrics", headers={"Authorization": f"Bearer {'m' * 32}"}).content.decode()
    samples = {
        (sample.name, sample.labels.get("supply"), sample.labels.get("of")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    ends = samples["cutline_supply_runs_out_seconds", "stored-bytes", str(ada.pk)]
    wanted = datetime.fromisoformat(first["runs_out_at"]).timestamp() - time.time()
    assert ends == pytest.approx(wanted, abs=120)
    assert samples["cutline_supply_used", "stored-bytes", str(ada.pk)] == 999_000
    assert samples["cutline_supply_limit", "stored-bytes", str(ada.pk)] == 10**6
    for supply in health["supplies"]:
        key = "cutline_supply_runs_out_seconds", supply["name"], supply["of"]
        if not supply["rates"] and supply["state"] != "out":
            assert key not in samples  # what is not forecast has no such number
    assert "ada@example.org" not in text


def test_a_new_installation_says_that_it_is_not_known_yet(live, data_dir, an_operator):
    health = report.report()
    assert health["runs_out_first"].startswith("What runs out first is not known. Disk of data")
    assert "nothing was measured yet" in health["runs_out_first"]


def test_without_redis_what_was_measured_is_not_known(data_dir, settings):
    settings.REDIS_URL = NOBODY
    health = report.report()
    supply = named(health["supplies"], "disk")
    assert supply["answer"].endswith("Redis does not answer, and what was measured is kept there")
    assert supply["used"] > 0  # that is asked of the disk
    problems = {part["name"]: part["problem"] for part in health["parts"]}
    assert problems["workers"] == "Which workers run is not known, because Redis does not answer."


def test_without_the_database_the_rest_is_still_said(live, data_dir):
    def refuse(execute, sql, parameters, many, context):
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        health = report.report()
    supplies = {each["name"]: each["state"] for each in health["supplies"]}
    assert supplies["stored-bytes"] == supplies["open-jobs"] == supplies["workers"] == "unknown"
    assert "used" in named(health["supplies"], "disk")


def test_nothing_that_runs_out_is_said_only_if_all_is_known(live, data_dir):
    measured_disk(live, grew_by=-(10**9))
    known = [each for each in every(Noted.read()) if each["state"] == "ok"]
    assert headline(known) == "Nothing runs out at the present rate."
    unknown = machines.not_known(machines.OBJECT_STORE, "it does not say")
    assert headline([*known, unknown]) == (
        "Nothing runs out at the present rate, as far as is known. Not known: Object store."
    )
