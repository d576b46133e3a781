"""Webhooks: sent to a real receiver by the function that workers call."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from tasks.queue.notices import Sender
from tests.web.given import a_person, signed_in
from tests.webapp.notices.given import Never, address, happened, later
from tests.webapp.receiver import Receiver
from webapp.notices import kinds, posting, sending, services
from webapp.notices.models import Attempt, Delivery, Notice

pytestmark = pytest.mark.django_db


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
