"""What operators do with accounts: in the shell, on the page and in the API."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from snapshots import access, allowances
from snapshots.models import Allowance, Collector, EngineJob, Job, Recording, Topology
from snapshots.problems import NotFound
from snapshots.services import mappings
from tests.web.given import a_client, a_file, a_person, a_ready_recording, post_json, signed_in
from webapp.accounts import people, services
from webapp.accounts.models import AuditEntry, Session, SignInLink
from webapp.accounts.signals import account_closed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
PAGES = ["/operator/people", "/operator/people/{pk}", "/operator/people/{pk}/close"]
PAGES += ["/operator/people/{pk}/hand-over", "/operator/audit", "/operator/audit?format=csv"]


@pytest.fixture
def owner() -> User:
    return a_person("owner@localhost")


@pytest.fixture
def ada() -> User:
    return a_person()


@pytest.fixture
def bob() -> User:
    return a_person("bob@example.org")


def command(capsys, *arguments) -> str:
    call_command("people", *arguments)
    return capsys.readouterr().out


def with_everything(user) -> Recording:
    """Return somebody's recording, beside which they have a job, a topology, a mapping and a
    collector."""
    row = a_ready_recording(user)
    Job.objects.create(kind="restore", owner=user, recording=row)
    Topology.objects.create(owner=user, name="ring", definition={})
    mappings.save(user, "spans", {"process": "p", "kind": "k"})
    Collector.objects.create(owner=user, engine="flink", url="http://a:1")
    EngineJob.objects.create(owner=user, engine="flink", key="a" * 32)
    return row


def owned_by(user) -> dict[str, int]:
    models = (Recording, Job, Topology, Collector, EngineJob)
    return {model.__name__: model.objects.filter(owner=user).count() for model in models}


def test_the_first_link_makes_an_operator(capsys):
    call_command("sign_in_link")
    call_command("sign_in_link", "eve@example.org")
    operators = User.objects.filter(is_staff=True)
    assert [user.username for user in operators] == ["owner@localhost"]


def test_only_operators_pass(owner, ada):
    access.require_operator(owner)
    owner.is_active = False
    for user in (ada, owner):
        with pytest.raises(NotFound):
            access.require_operator(user)


@pytest.mark.parametrize("address", PAGES)
def test_the_pages_are_there_for_operators_alone(owner, ada, address):
    address = address.format(pk=ada.pk)
    assert signed_in(owner).get(address).status_code == 200
    assert signed_in(ada).get(address).status_code == 404
    assert Client().get(address).status_code == 302


def test_nobody_else_can_do_any_of_it(ada, bob):
    page, api = signed_in(ada), a_client(ada)
    for slug in ("close", "open", "end-sessions", "make-operator", "delete", "limits", "hand-over"):
        assert page.post(f"/operator/people/{bob.pk}/{slug}").status_code == 404, slug
    address = f"/api/operator/people/{bob.pk}"
    answers = [
        api.get("/api/operator/people"),
        api.get(address),
        api.get("/api/operator/audit"),
        api.delete(address),
        post_json(api, address, {"is_operator": True}, "patch"),
        post_json(api, f"{address}/limits", {"open_jobs": 1}, "patch"),
        post_json(api, f"{address}/end-sessions", {}),
        post_json(api, f"{address}/hand-over", {"to": "ada@example.org"}),
    ]
    assert {answer.status_code for answer in answers} == {404}
    bob.refresh_from_db()
    assert (bob.is_active, bob.is_staff) == (True, False)


def test_the_menu_shows_the_pages_to_operators(owner, ada):
    assert 'href="/operator"' in signed_in(owner).get("/account").text
    assert "/operator" not in signed_in(ada).get("/account").text
    for page in ("/operator", "/operator/people", "/operator/audit"):
        text = signed_in(owner).get(page).text
        assert all(f'href="{other}"' in text for other in ("/operator/people", "/operator/audit"))
        assert signed_in(ada).get(page).status_code == 404


def test_the_list_says_who_uses_how_much(owner, ada, capsys):
    row = with_everything(ada)
    Recording.objects.filter(pk=row.pk).update(size=2_000_000, upload="f", stored_bytes=3_000_000)
    page = signed_in(owner).get("/operator/people").text
    assert page.index("ada@example.org") < page.index("owner@localhost")  # the most stored first
    assert "5.00 MB" in page or "5 MB" in page
    assert "ada@example.org" in command(capsys)
    listed = a_client(owner).get("/api/operator/people?q=ada").json()
    assert listed["total"] == 1
    usage = {"open_jobs": 1, "collectors": 1, "recordings": 1, "stored_bytes": 5_000_000}
    assert listed["items"][0]["usage"] == usage


def test_a_closed_account_ends_all_that_runs(
    owner, ada, django_capture_on_commit_callbacks, capsys
):
    with_everything(ada)
    browser, program = signed_in(ada), a_client(ada)
    link = services.make_sign_in_link(ada)
    announced = []

    def listen(user_id, **_):
        announced.append(user_id)

    account_closed.connect(listen)
    with django_capture_on_commit_callbacks(execute=True):
        said = command(capsys, "--close", "ada@example.org")
    account_closed.disconnect(listen)
    assert "1 session ended, 1 job cancelled, 1 collector stopped" in said
    assert announced == [ada.pk]
    assert browser.get("/account").status_code == 302
    refusal = program.get("/api/recordings")
    assert refusal.status_code == 401
    assert "closed" in refusal.json()["detail"]
    assert Job.objects.get().state == Job.State.CANCELLED
    assert not Collector.objects.get().is_collecting
    assert not SignInLink.objects.exists()
    assert Client().post(link.partition("8000")[2]).status_code == 422
    assert Recording.objects.filter(owner=ada).count() == 1


def test_an_account_is_opened_again(owner, ada, capsys):
    program = a_client(ada)
    command(capsys, "--close", "ada@example.org")
    command(capsys, "--open", "ada@example.org")
    assert program.get("/api/recordings").status_code == 200
    with pytest.raises(CommandError, match="is already open"):
        call_command("people", "--open", "ada@example.org")


def test_the_last_operator_stays(owner, ada, capsys):
    for flag in ("--close", "--unmake-operator"):
        with pytest.raises(CommandError, match="is the only operator"):
            call_command("people", flag, "owner@localhost")
    command(capsys, "--make-operator", "ada@example.org")
    command(capsys, "--unmake-operator", "owner@localhost")
    assert [user.username for user in User.objects.filter(is_staff=True)] == ["ada@example.org"]


def test_a_name_that_is_nobody_is_one_sentence():
    with pytest.raises(CommandError, match="There is no person 'nobody@x.org'"):
        call_command("people", "--close", "nobody@x.org")
    assert not User.objects.exists()


def test_all_sessions_end(owner, ada, capsys):
    browsers = [signed_in(ada), signed_in(ada)]
    assert "2 sessions of ada@example.org ended" in command(capsys, "--end-sessions", str(ada))
    assert {browser.get("/account").status_code for browser in browsers} == {302}


def test_everything_is_handed_over(owner, ada, bob, capsys):
    row = with_everything(ada)
    said = command(capsys, "--hand-over", "ada@example.org", "bob@example.org")
    assert "1 recording, 1 topology, 1 mapping, 1 collector and 1 archived job" in said
    assert set(owned_by(ada).values()) == {0}
    assert set(owned_by(bob).values()) == {1}
    assert a_client(bob).get(f"/api/recordings/{row.pk}").status_code == 200
    assert a_client(ada).get(f"/api/recordings/{row.pk}").status_code == 404


def test_what_both_have_stays_and_is_named(owner, ada, bob):
    with_everything(ada)
    with_everything(bob)
    EngineJob.objects.filter(owner=ada).update(name="payments")
    result = people.hand_over(ada, bob, owner)
    assert (result.moved["recording"], result.moved["collector"]) == (1, 0)
    assert result.left == [
        "The collector of http://a:1 stays: bob@example.org has one of that address.",
        "The archived job “payments” stays: bob@example.org has that job too.",
    ]
    assert owned_by(ada) == {
        "Recording": 0,
        "Job": 0,
        "Topology": 0,
        "Collector": 1,
        "EngineJob": 1,
    }


def test_a_moved_job_keeps_no_foreign_collector(owner, ada, bob):
    for user, key in ((ada, "a" * 32), (bob, "b" * 32)):
        collector = Collector.objects.create(owner=user, engine="flink", url="http://a:1")
        EngineJob.objects.create(owner=user, engine="flink", key=key, collector=collector)
    people.hand_over(ada, bob, owner)
    moved = EngineJob.objects.get(key="a" * 32)
    assert (moved.owner, moved.collector) == (bob, None)


def test_a_closed_account_is_deleted_when_it_holds_nothing(owner, ada, bob, capsys):
    with_everything(ada)
    with pytest.raises(CommandError, match="is open: close it first"):
        call_command("people", "--delete", str(ada))
    command(capsys, "--close", str(ada))
    with pytest.raises(CommandError, match="still has 1 recording: hand over first"):
        call_command("people", "--delete", str(ada))
    command(capsys, "--hand-over", str(ada), str(bob))
    command(capsys, "--delete", str(ada))
    assert not User.objects.filter(pk=ada.pk).exists()
    assert AuditEntry.objects.filter(action="account-deleted", subject=str(ada)).exists()
    assert Recording.objects.filter(owner=bob).count() == 1


def test_limits_are_set_in_the_shell(owner, ada, capsys):
    limits = ("open_jobs=3", "stored_bytes=1.5 GB", "collectors=0")
    command(capsys, "--allow", str(ada), *limits)
    allowance = allowances.allowance(ada)
    assert (allowance.open_jobs, allowance.stored_bytes) == (3, 1_500_000_000)
    assert allowance.collectors == 0
    command(capsys, "--allow", str(ada), "open_jobs=")
    assert allowances.allowance(ada).open_jobs == 200
    wrong = ["jobs=3", "open_jobs=-1", "open_jobs=1.5", "open_jobs=3 GB", "stored_bytes=9 EB"]
    wrong += ["open_jobs", "open_jobs=99999999999", "stored_bytes=0.5", "retention_days=x"]
    for limit in wrong:
        with pytest.raises(CommandError):
            call_command("people", "--allow", str(ada), limit)


def test_limits_are_set_on_the_page_and_a_wrong_one_is_marked(owner, ada):
    client = signed_in(owner)
    fields = {"open_jobs": "7", "collectors": "", "stored_bytes": "2 GB", "retention_days": ""}
    assert client.post(f"/operator/people/{ada.pk}/limits", fields).status_code == 302
    row = Allowance.objects.get()
    assert (row.open_jobs, row.collectors, row.stored_bytes) == (7, None, 2 * 10**9)
    fields["open_jobs"] = "many"
    answer = client.post(f"/operator/people/{ada.pk}/limits", fields)
    assert answer.status_code == 422
    assert "open_jobs must be a whole number" in answer.text
    assert 'value="many"' in answer.text
    assert 'aria-invalid="true"' in answer.text


def test_the_page_asks_before_it_acts(owner, ada):
    client, browser = signed_in(owner), signed_in(ada)
    address = f"/operator/people/{ada.pk}"
    assert "Close the account: ada@example.org?" in client.get(f"{address}/close").text
    assert browser.get("/account").status_code == 200
    assert client.post(f"{address}/close").status_code == 302
    assert browser.get("/account").status_code == 302
    again = client.post(f"{address}/close", follow=True)
    assert "is already closed" in again.text
    assert client.get(f"{address}/nonsense").status_code == 404


def test_the_page_hands_over(owner, ada, bob):
    with_everything(ada)
    client, address = signed_in(owner), f"/operator/people/{ada.pk}/hand-over"
    missing = client.post(address, {"to": "nobody@x.org"})
    assert (missing.status_code, "no person" in missing.text) == (404, True)
    to_itself = client.post(address, {"to": str(ada)})
    assert to_itself.status_code == 409
    page = client.post(address, {"to": str(bob)})
    assert "bob@example.org now has 1 recording" in page.text


def test_the_api_does_what_the_pages_do(owner, ada, bob):
    client, address = a_client(owner), f"/api/operator/people/{ada.pk}"
    Session.objects.all().delete()
    browser = signed_in(ada)
    assert post_json(client, f"{address}/end-sessions", {}).json()["sessions"] == 0
    assert browser.get("/account").status_code == 302
    limited = post_json(client, f"{address}/limits", {"open_jobs": 3}, "patch").json()
    assert (limited["limits"]["open_jobs"], limited["own_limits"]) == (3, {"open_jobs": 3})
    assert post_json(client, f"{address}/limits", {}, "patch").status_code == 422
    changed = post_json(client, address, {"is_operator": True}, "patch").json()
    assert changed["is_operator"]
    assert not post_json(client, address, {"is_active": False}, "patch").json()["is_active"]
    given = post_json(client, f"{address}/hand-over", {"to": str(bob)})
    assert given.json() == {
        "moved": dict.fromkeys(
            ("recording", "topology", "mapping", "review", "collector", "archived job", "team"), 0
        ),
        "left": [],
    }
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404


def test_an_upload_after_handing_over_is_the_givers_again(owner, ada, bob):
    people.hand_over(ada, bob, owner)
    a_client(ada).post("/api/recordings", {"file": a_file()})
    assert Recording.objects.get().owner == ada
