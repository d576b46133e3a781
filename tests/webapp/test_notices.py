"""Webhooks and e-mail: sent to a real receiver by the function that workers call."""

import ipaddress
import json
import socket
import subprocess
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core import mail as outbox
from django.utils import timezone
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from snapshots.jobs import leases
from snapshots.models import Job, Recording
from snapshots.problems import Conflict, Invalid, TooMany
from tasks.queue.notices import Sender
from tests.web.given import a_person, post_json, signed_in
from tests.webapp.receiver import Receiver
from webapp.accounts.models import AuditEntry
from webapp.notices import addresses, events, kinds, posting, sending, services
from webapp.notices.models import Attempt, Delivery, Notice, Webhook
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = pytest.mark.django_db

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


@pytest.fixture(autouse=True)
def near(settings):
    """Allow what a receiver on this machine needs, and configure e-mail."""
    settings.WEBHOOK_HTTP = True
    settings.WEBHOOK_PRIVATE_NETWORKS = LOOPBACK
    settings.EMAIL_HOST = "mail.example.org"


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def webhook(ada, receiver) -> Webhook:
    return services.create(ada, ada, receiver.url, kinds.NAMES)


class Here(Executor):
    """Runs in this thread what a worker runs in others, which would not see the test's rows."""

    def submit(self, function, /, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


class Never(Executor):
    """Begins everything and ends nothing, as with receivers that never answer."""

    def __init__(self):
        self.owners = []

    def submit(self, function, delivery, /):
        self.owners.append(delivery.notice.owner.username)
        return Future()


@pytest.fixture
def send(monkeypatch):
    """Return the function with which workers send what is due."""
    monkeypatch.setattr("tasks.queue.notices.connections.close_all", lambda: None)
    return Sender(Here()).send_due


def later(**by: float) -> None:
    """Move everything that waits into the past."""
    for row in Delivery.objects.filter(state="waiting"):
        Delivery.objects.filter(pk=row.pk).update(next_at=row.next_at - timedelta(**by))


def happened(owner, key="1", kind=kinds.JOB_DONE, **fields) -> Notice | None:
    given = {"title": "It is done", "sentence": "The job is done.", "path": "/jobs/7"} | fields
    return events.notify(owner, kind, key=key, **given)


def a_job(owner, kind=Job.Kind.INGEST) -> leases.Lease:
    """Return the lease on a running job."""
    recording = Recording.objects.create(owner=owner, name="two banks")
    job = Job.objects.create(kind=kind, owner=owner, recording=recording)
    lease = leases.claim(job.pk)
    assert lease is not None
    return lease


def ended(owner, verdicts: dict[str, int], **fields) -> leases.Lease:
    lease = a_job(owner)
    lease.write(state=Job.State.DONE, result={"verdicts": verdicts}, **fields)
    return lease


def test_a_webhook_gets_what_happened_and_can_check_who_sent_it(ada, webhook, receiver, send):
    happened(ada, data={"job": 7})
    send()
    [came] = receiver.received
    assert came.path == "/hook?x=1"
    told = Verifier(webhook.secret).verify(came.body, came.headers)
    assert told["type"] == "job.done"
    assert told["data"] == {
        "title": "It is done",
        "sentence": "The job is done.",
        "url": "http://127.0.0.1:8000/jobs/7",
        "job": 7,
    }
    with pytest.raises(WebhookVerificationError):
        Verifier(services.new_secret()).verify(came.body, came.headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(webhook.secret).verify(came.body.replace(b"7", b"8"), came.headers)
    [attempt] = Attempt.objects.all()
    assert (attempt.status, attempt.error, attempt.delivery.state) == (204, "", "delivered")


def test_the_kinds_are_chosen_and_others_are_not_sent(ada, webhook, receiver, send):
    services.change(webhook, ada, {"kinds": [kinds.JOB_FAILED]})
    assert happened(ada) is None
    happened(ada, kind=kinds.JOB_FAILED)
    services.change(webhook, ada, {"is_on": False})
    assert happened(ada, key="2", kind=kinds.JOB_FAILED) is None
    assert Notice.objects.count() == 1


def test_nobody_else_is_notified(ada, webhook, send, receiver):
    assert happened(a_person("bob@example.org")) is None
    assert happened(None) is None
    send()
    assert receiver.received == []


def test_a_failure_is_tried_again_with_growing_pauses_and_then_given_up(
    ada, webhook, receiver, send
):
    receiver.status = 500
    happened(ada)
    for tries, pause in enumerate(sending.PAUSES, 1):
        send()
        send()  # it is not due yet
        row = Delivery.objects.get()
        assert (row.tries, row.state) == (tries, "waiting")
        assert timedelta(0) <= timezone.now() + pause - row.next_at < timedelta(seconds=30)
        later(days=2)
    send()
    assert Delivery.objects.get().state == "failed"
    assert {row.error for row in Attempt.objects.all()} == {"The receiver answered 500."}
    ids = {came.headers["webhook-id"] for came in receiver.received}
    assert (len(receiver.received), len(ids)) == (10, 1)


def test_sending_again_begins_anew_with_the_same_id(ada, webhook, receiver, send):
    happened(ada)
    send()
    services.send_again(webhook, Delivery.objects.get())
    send()
    assert len({came.headers["webhook-id"] for came in receiver.received}) == 1
    assert len(receiver.received) == 2
    assert Delivery.objects.get().state == "delivered"


def test_no_redirect_is_followed(ada, webhook, receiver, send):
    other = Receiver()
    receiver.status, receiver.location = 307, other.url
    happened(ada)
    send()
    assert other.received == []
    assert "A redirect is not followed" in Attempt.objects.get().error
    other.stop()


def test_a_receiver_that_is_gone_switches_the_webhook_off(ada, webhook, receiver, send):
    receiver.status = 410
    happened(ada)
    send()
    webhook.refresh_from_db()
    assert (webhook.is_on, Delivery.objects.get().state) == (False, "failed")
    assert "it wants nothing more" in signed_in(ada).get(address(webhook)).text


def test_a_receiver_that_answers_forever_is_cut_off(ada, webhook, receiver, send, monkeypatch):
    monkeypatch.setattr(posting, "ANSWER_SECONDS", 0.2)
    receiver.drips = True
    happened(ada)
    send()
    assert Attempt.objects.get().error == "The receiver did not answer in time."


def test_a_receiver_that_is_not_there_is_a_failure_that_says_so(ada, webhook, receiver, send):
    receiver.stop()
    happened(ada)
    send()
    assert Attempt.objects.get().error == "There is no connection: Connection refused."
    assert Delivery.objects.get().state == "waiting"


@pytest.mark.parametrize(
    "address",
    [
        *["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"],
        *["0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1"],
        *["::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"],
        *["fec0::1", "feff::1", "::ffff:0:10.0.0.1", "::10.0.0.1", "::5db8:d822"],
    ],
)
def test_addresses_that_are_not_public_are_refused(ada, settings, address, monkeypatch):
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Invalid, match="is not a public address"):
        services.create(ada, ada, f"https://{host}/hook", [])
    resolves_to(monkeypatch, address)
    with pytest.raises(addresses.NotDelivered, match="is not a public address"):
        addresses.resolved("hooks.example.org", 443)


def resolves_to(monkeypatch, *answers: str) -> list[str]:
    """Let each question for a name get the next answer, and return the names asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host, port, *args, **options):
        if host.replace(".", "").isdigit() or ":" in host:
            return real(host, port, *args, **options)
        asked.append(host)
        answer = answers[min(len(asked), len(answers)) - 1]
        family = socket.AF_INET6 if ":" in answer else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (answer, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_public_addresses_are_allowed(settings, address):
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    assert addresses.is_allowed(ipaddress.ip_address(address))


def test_a_private_receiver_gets_nothing_unless_a_setting_allows_it(
    ada, webhook, receiver, send, settings
):
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    happened(ada)
    send()
    assert receiver.received == []
    assert "localhost is not a public address" in Attempt.objects.get().error
    settings.WEBHOOK_PRIVATE_NETWORKS = LOOPBACK
    later(minutes=1)
    send()
    assert len(receiver.received) == 1


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(
    ada, receiver, send, monkeypatch
):
    services.create(ada, ada, f"http://hooks.example.org:{receiver.port}/", kinds.NAMES)
    asked = resolves_to(monkeypatch, "127.0.0.1", "127.0.0.2")
    happened(ada)
    send()
    assert asked == ["hooks.example.org"]
    assert receiver.received[0].headers["Host"] == f"hooks.example.org:{receiver.port}"


def certificate_for(name: str, folder) -> str:
    """Return a file with a key and a certificate of its own."""
    key, file = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        [
            *["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            *["-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext"],
            *[f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(file)],
        ],
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + key.read_text())
    return str(file)


@pytest.mark.parametrize(
    ("name", "is_trusted", "outcome"),
    [
        ("localhost", True, ""),
        ("localhost", False, "There is no secure connection: self-signed certificate"),
        ("other.example", True, "There is no secure connection: Hostname mismatch"),
    ],
)
def test_a_certificate_is_checked(ada, send, tmp_path, monkeypatch, name, is_trusted, outcome):
    certificate = certificate_for(name, tmp_path)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
    receiver = Receiver(certificate)
    services.create(ada, ada, receiver.url, kinds.NAMES)
    happened(ada)
    send()
    receiver.stop()
    assert Attempt.objects.get().error.startswith(outcome)
    assert len(receiver.received) == (outcome == "")


def test_two_workers_send_one_delivery_once(ada, webhook):
    happened(ada)
    [seen] = Delivery.objects.filter(state="waiting")
    assert [row.pk for row in sending.claim_due(8)] == [seen.pk]
    assert sending.claim_due(8) == []
    assert not sending._claim(seen, timezone.now())
    later(minutes=3)
    assert [row.pk for row in sending.claim_due(8)] == [seen.pk]


@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_from_its_threads(ada, webhook, receiver):
    happened(ada)
    with ThreadPoolExecutor(2) as pool:
        Sender(pool).send_due()
    assert len(receiver.received) == 1
    assert Attempt.objects.get().status == 204


@pytest.mark.usefixtures("send")
def test_receivers_that_never_answer_delay_nobody_else(ada, webhook, receiver):
    for number in range(20):
        happened(ada, key=str(number))
    bob, never = a_person("bob@example.org"), Never()
    sender = Sender(never)
    sender.send_due()
    services.create(bob, bob, receiver.url, kinds.NAMES)
    happened(bob)
    sender.send_due()
    sender.send_due()
    assert never.owners == ["ada@example.org"] * sending.MOST_OF_ONE + ["bob@example.org"]


def test_whoever_has_nothing_under_way_comes_before_those_who_waited_longer(ada, webhook):
    bob = a_person("bob@example.org")
    services.create(bob, bob, webhook.url, kinds.NAMES)
    for number in range(3):
        happened(ada, key=str(number))
    happened(bob)
    owners = [row.notice.owner for row in sending.claim_due(2)]
    assert owners == [ada, bob]
    assert [row.notice.owner for row in sending.claim_due(8, [ada.pk])] == [ada]


def test_many_addresses_that_do_not_answer_take_no_longer_than_one(monkeypatch):
    waits, now = [], [100.0]

    def unreachable(address, timeout):
        waits.append(timeout)
        now[0] += timeout
        raise TimeoutError

    monkeypatch.setattr(posting.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(posting.socket, "create_connection", unreachable)
    ends_at = now[0] + posting.ANSWER_SECONDS - 1
    with pytest.raises(TimeoutError):
        posting._first_that_answers([f"192.0.2.{number}" for number in range(50)], 443, ends_at)
    assert waits == [5.0, 5.0, 4.0]


def test_a_closed_account_is_sent_nothing(ada, webhook, receiver, send):
    happened(ada)
    ada.is_active = False
    ada.save()
    send()
    assert receiver.received == []
    assert Attempt.objects.get().error == "The account is closed."
    assert happened(ada, key="2") is None


def test_old_notices_are_forgotten(ada, webhook, send):
    happened(ada)
    happened(ada, key="2")
    Notice.objects.filter(key="1").update(at=timezone.now() - sending.KEPT - timedelta(hours=1))
    sending.forget_old()
    assert [row.notice.key for row in Delivery.objects.all()] == ["2"]


# --- e-mail


def test_an_e_mail_says_what_happened_and_where(ada, send):
    events.mentioned(ada, a_person("bob@example.org"), key="e1", where="recording 7", path="/r/7")
    send()
    [message] = outbox.outbox
    assert (message.to, message.subject) == (
        ["ada@example.org"],
        "Cutline: bob@example.org mentions you",
    )
    assert "bob@example.org mentions you in recording 7." in message.body
    assert "http://127.0.0.1:8000/r/7" in message.body
    assert Attempt.objects.get().delivery.state == "delivered"


def test_of_jobs_there_is_e_mail_only_where_somebody_chose_it(ada, send):
    assert happened(ada) is None
    services.choose_mail(ada, [kinds.JOB_DONE])
    happened(ada)
    send()
    assert len(outbox.outbox) == 1


def test_a_title_with_line_ends_stays_one_header(ada, send):
    services.choose_mail(ada, [kinds.JOB_DONE])
    happened(ada, title="done\r\nBcc: eve@example.org")
    send()
    [message] = outbox.outbox
    assert message.subject == "Cutline: done Bcc: eve@example.org"
    assert message.recipients() == ["ada@example.org"]


def test_without_a_mail_server_the_page_says_so_and_nothing_waits(ada, settings):
    settings.EMAIL_HOST = ""
    assert happened(ada, kind=kinds.MENTIONED) is None
    assert "This server sends no e-mail" in signed_in(ada).get("/account/notifications").text


def test_a_mail_server_that_is_not_there_is_tried_again(ada, send, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    happened(ada, kind=kinds.MENTIONED)
    send()
    assert "The mail server did not take it" in Attempt.objects.get().error
    assert Delivery.objects.get().state == "waiting"


def test_the_first_operator_has_no_address_for_e_mail(send):
    assert happened(a_person("owner@localhost"), kind=kinds.MENTIONED) is None


# --- events


@pytest.mark.parametrize(
    ("state", "error", "kind", "sentence"),
    [
        ("done", None, "job.done", "ingest of “two banks”, is done."),
        ("failed", {"detail": "The disk is full."}, "job.failed", "failed. The disk is full."),
        ("refused", {"detail": "Line 3: no."}, "job.failed", "was refused. Line 3: no."),
    ],
)
def test_the_end_of_a_job_is_an_event(ada, webhook, state, error, kind, sentence):
    a_job(ada).write(state=state, error=error)
    notice = Notice.objects.get()
    assert notice.kind == kind
    assert sentence in notice.sentence
    assert notice.data["recording_name"] == "two banks"


@pytest.mark.parametrize("state", ["cancelled", "queued"])
def test_a_cancelled_job_and_one_that_is_put_back_are_none(ada, webhook, state):
    a_job(ada).write(state=state)
    assert not Notice.objects.exists()


def test_a_job_that_was_not_ended_notifies_nobody(ada, webhook):
    lease = a_job(ada)
    lease.job.attempt += 1
    with pytest.raises(leases.LeaseLost):
        lease.write(state="done")
    assert not Notice.objects.exists()


def test_a_verdict_that_is_not_consistent_is_an_event_once_for_each_recording(ada, webhook):
    lease = ended(ada, {"consistent": 3, "orphan": 1, "lost": 1, "unknown": 2})
    notice = Notice.objects.get(kind=kinds.NOT_CONSISTENT)
    assert notice.sentence == (
        "2 of 7 snapshots of “two banks” are not consistent: 1 orphan, 1 lost."
    )
    again = Job.objects.create(kind="ingest", owner=ada, recording=lease.job.recording)
    leases.claim(again.pk).write(state="done", result={"verdicts": {"orphan": 1}})
    assert Delivery.objects.filter(notice__kind=kinds.NOT_CONSISTENT).count() == 1


@pytest.mark.parametrize("verdicts", [{}, {"consistent": 4}, {"unknown": 2, "incomplete": 1}])
def test_what_is_not_known_is_not_called_inconsistent(ada, webhook, verdicts):
    ended(ada, verdicts)
    assert not Notice.objects.filter(kind=kinds.NOT_CONSISTENT).exists()


def test_a_follow_up_that_is_due_is_an_event_for_each_day(ada, webhook):
    for due in ("2026-11-23", "2026-11-23", "2026-11-24"):
        events.follow_up_due(ada, key=f"f1 {due}", title="add a disk", due=due, path="/r/1")
    assert [row.sentence for row in Notice.objects.order_by("pk")] == [
        "The follow-up “add a disk” is due on 2026-11-23.",
        "The follow-up “add a disk” is due on 2026-11-24.",
    ]
    assert Delivery.objects.filter(webhook=webhook).count() == 2


def test_mentioning_oneself_is_no_event(ada, webhook):
    events.mentioned(ada, ada, key="e1", where="recording 7", path="/r/7")
    assert not Notice.objects.exists()


# --- what a person does


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "begins with https://"),
        ("hooks.example.org", "begins with https://"),
        ("ftp://hooks.example.org", "begins with https://"),
        ("https://", "begins with https://"),
        ("https://user:word@hooks.example.org", "has no user"),
        ("https://hooks.example.org/#a", "or fragment"),
        ("https://hooks.example.org/ä", "percent-encoded"),
        ("https://hooks.example.org/a\r\nX: y", "percent-encoded"),
        ("https://hooks.example.org:99999", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("https://hooks.example.org/" + "a" * 500, "more than 500 characters"),
        (["https://hooks.example.org"], "begins with https://"),
    ],
)
def test_an_address_that_cannot_be_posted_to_is_refused(ada, url, sentence):
    with pytest.raises(Invalid, match=sentence):
        services.create(ada, ada, url, [])


def test_http_needs_a_setting(ada, settings):
    services.create(ada, ada, "http://hooks.example.org", [])
    settings.WEBHOOK_HTTP = False
    with pytest.raises(Invalid, match="WEBHOOK_HTTP would allow http"):
        services.create(ada, ada, "http://hooks.example.org", [])


@pytest.mark.parametrize(
    "names", [None, "job.done", 7, ["job.don"], ["test"], {"job.done": 1}, [[]]]
)
def test_kinds_that_there_are_not_are_refused(ada, names):
    with pytest.raises(Invalid) as refusal:
        services.create(ada, ada, "https://hooks.example.org", names)
    assert refusal.value.members["field"] == "kinds"


def test_a_person_has_only_so_many_webhooks_and_tests(ada, webhook):
    for _ in range(services.MOST_TESTS):
        services.send_test(webhook)
    with pytest.raises(Conflict, match="10 tests"):
        services.send_test(webhook)
    for _ in range(services.MOST_WEBHOOKS - 1):
        services.create(ada, ada, "https://hooks.example.org", [])
    with pytest.raises(TooMany):
        services.create(ada, ada, "https://hooks.example.org", [])


def address(webhook: Webhook) -> str:
    return f"/account/notifications/webhooks/{webhook.pk}"


def test_the_pages_make_test_change_and_delete_a_webhook(ada, receiver, send):
    client = signed_in(ada)
    form = {"url": receiver.url, "kinds": ["job.done", "job.failed"]}
    page = client.post("/account/notifications/webhooks", form).text
    row = Webhook.objects.get()
    assert row.secret in page
    assert row.secret not in client.get(address(row)).text
    client.post(f"{address(row)}/test")
    send()
    assert json.loads(receiver.received[0].body)["type"] == "test"
    page = client.get(address(row)).text
    assert "A test" in page
    assert "delivered" in page
    delivery = Delivery.objects.get()
    client.post(f"{address(row)}/deliveries/{delivery.pk}/again")
    send()
    assert len(receiver.received) == 2
    client.post(address(row), {"url": receiver.url, "kinds": ["job.failed"]})
    row.refresh_from_db()
    assert (row.kinds, row.is_on) == (["job.failed"], False)
    assert "Switch it on first" in client.post(f"{address(row)}/test", follow=True).text
    secret = row.secret
    client.post(f"{address(row)}/secret")
    row.refresh_from_db()
    assert row.secret != secret
    assert "cannot be undone" in client.get(f"{address(row)}/delete").text
    client.post(f"{address(row)}/delete")
    assert not Webhook.objects.exists()
    made = AuditEntry.objects.filter(action__startswith="webhook-").order_by("pk")
    assert [entry.action for entry in made] == [
        *["webhook-made", "webhook-changed", "webhook-changed", "webhook-removed"]
    ]
    assert all(secret not in f"{entry.subject}{entry.detail}" for entry in made)


def test_a_refused_address_stays_in_its_field(ada, webhook):
    client = signed_in(ada)
    for where in ("/account/notifications/webhooks", address(webhook)):
        answer = client.post(where, {"url": "gopher://a", "kinds": ["job.done"]})
        assert answer.status_code == 422
        assert 'value="gopher://a"' in answer.text
        assert "begins with https://" in answer.text


def test_the_api_can_do_what_the_pages_can(ada, api, receiver, send):
    made = post_json(api, "/api/webhooks", {"url": receiver.url, "kinds": ["job.done"]})
    assert made.status_code == 201
    number, secret = made.json()["id"], made.json()["secret"]
    where = f"/api/webhooks/{number}"
    assert secret not in api.get(where).text
    assert post_json(api, f"{where}/test", {}).status_code == 202
    send()
    Verifier(secret).verify(receiver.received[0].body, receiver.received[0].headers)
    [item] = api.get(f"{where}/deliveries").json()["items"]
    assert (item["state"], item["attempts"][0]["status"]) == ("delivered", 204)
    assert post_json(api, f"{where}/deliveries/{item['id']}/again", {}).status_code == 202
    assert post_json(api, where, {"is_on": False}, "patch").json()["is_on"] is False
    assert post_json(api, f"{where}/test", {}).status_code == 409
    assert post_json(api, where, {"is_on": "no"}, "patch").json()["field"] == "is_on"
    assert post_json(api, f"{where}/secret", {}).json()["secret"] != secret
    chosen = post_json(api, "/api/notifications/mail", {"kinds": ["job.done"]}, "put").json()
    assert chosen == {"is_configured": True, "address": "ada@example.org", "kinds": ["job.done"]}
    assert api.get("/api/notifications/mail").json() == chosen
    assert len(api.get("/api/notifications/kinds").json()["items"]) == len(kinds.KINDS)
    assert api.delete(where).status_code == 204
    assert api.get("/api/webhooks").json() == {"items": []}


def test_somebody_elses_webhook_is_not_there(webhook):
    services.send_test(webhook)
    delivery = Delivery.objects.get().pk
    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(address(webhook)).status_code == 404
    for action in ("", "/secret", "/test", f"/deliveries/{delivery}/again", "/delete"):
        assert stranger.post(address(webhook) + action, {}).status_code == 404
    mine = services.create(
        a_person("eve@example.org"), a_person("eve@example.org"), "https://hooks.example.org", []
    )
    assert stranger.post(f"{address(mine)}/deliveries/{delivery}/again").status_code == 404


def test_a_reading_token_changes_no_webhook(ada, webhook, client):
    from webapp.accounts.services import make_token

    _, token = make_token(ada, "reads", scope="read")
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    assert client.get("/api/webhooks").status_code == 200
    assert client.delete(f"/api/webhooks/{webhook.pk}").status_code == 403
    assert post_json(client, f"/api/webhooks/{webhook.pk}/secret", {}).status_code == 403


def test_names_are_text_on_the_pages(ada, webhook):
    happened(ada, title="<script>alert(1)</script>")
    page = signed_in(ada).get(address(webhook)).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


# --- teams


@pytest.fixture
def team(ada):
    return teams.create_team(ada, "payments")


@pytest.fixture
def teams_webhook(ada, team, receiver) -> Webhook:
    return services.create(team.account, ada, receiver.url, kinds.NAMES)


def test_a_team_is_notified_of_its_jobs_and_verdicts(ada, team, teams_webhook, receiver, send):
    ended(team.account, {"orphan": 1})
    services.send_test(teams_webhook)
    for _ in range(2):  # a team has only so many under way at once
        send()
    came = sorted(json.loads(came.body)["type"] for came in receiver.received)
    assert came == ["job.done", "test", "verdict.not-consistent"]
    assert {row.delivery.state for row in Attempt.objects.all()} == {"delivered"}
    assert outbox.outbox == []


def test_a_persons_webhook_gets_nothing_of_a_team(ada, webhook, team):
    ended(team.account, {"orphan": 1})
    assert not Notice.objects.exists()


def test_a_team_without_an_open_owner_is_sent_nothing(ada, team, teams_webhook, receiver, send):
    happened(team.account)
    ada.is_active = False
    ada.save()
    send()
    assert receiver.received == []
    assert happened(team.account, key="2") is None


@pytest.mark.parametrize("role", ["viewer", "commenter", "editor", None])
def test_only_owners_make_see_and_change_a_webhook_of_a_team(team, teams_webhook, role):
    grace = a_person("grace@example.org")
    if role is not None:
        Membership.objects.create(team=team, person=grace, role=role)
    client, status = signed_in(grace), 404 if role is None else 403
    body = {"url": "https://hooks.example.org", "kinds": []}
    assert post_json(client, f"/api/webhooks?team={team.pk}", body).status_code == status
    form = body | {"team": str(team.pk)}
    assert client.post("/account/notifications/webhooks", form).status_code == status
    assert client.get("/api/webhooks").json() == {"items": []}
    assert 'name="team"' not in client.get("/account/notifications").text
    for path in ("", "/secret", "/test", "/delete"):
        assert client.post(address(teams_webhook) + path, {}).status_code == 404
    assert client.delete(f"/api/webhooks/{teams_webhook.pk}").status_code == 404
    assert Webhook.objects.count() == 1


def test_another_owner_changes_a_webhook_of_the_team(team, teams_webhook):
    grace = a_person("grace@example.org")
    Membership.objects.create(team=team, person=grace, role="owner")
    client = signed_in(grace)
    [item] = client.get("/api/webhooks").json()["items"]
    assert item["team"] == {"id": team.pk, "name": "payments"}
    client.post(address(teams_webhook), {"url": teams_webhook.url, "kinds": ["job.failed"]})
    teams_webhook.refresh_from_db()
    assert teams_webhook.kinds == ["job.failed"]
    entry = AuditEntry.objects.filter(action="webhook-changed").get()
    assert (entry.actor, entry.person_id) == ("grace@example.org", team.pk)


def test_the_page_offers_the_teams_that_one_owns(ada, api, team):
    client = signed_in(ada)
    assert "team payments" in client.get("/account/notifications").text
    form = {"url": "https://hooks.example.org", "kinds": ["job.done"], "team": str(team.pk)}
    assert client.post("/account/notifications/webhooks", form).status_code == 200
    body = {"url": "https://hooks.example.org", "kinds": ["job.done"]}
    assert post_json(api, f"/api/webhooks?team={team.pk}", body).status_code == 201
    assert post_json(api, "/api/webhooks", body).status_code == 201
    owners = [row.owner for row in Webhook.objects.all()]
    assert owners == [team.account, team.account, ada]
    page = client.get("/account/notifications").text
    assert page.count("It belongs to this team") == 2
    refused = client.post("/account/notifications/webhooks", form | {"url": "gopher://a"})
    assert f'value="{team.pk}" selected' in refused.text


@pytest.mark.parametrize("number", ["x", "-1", "99999", "1" * 30])
def test_a_team_that_there_is_not_gets_no_webhook(ada, team, number):
    form = {"url": "https://hooks.example.org", "kinds": [], "team": number}
    assert signed_in(ada).post("/account/notifications/webhooks", form).status_code == 404
