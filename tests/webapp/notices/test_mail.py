"""E-mail: what it says, who gets it, and what happens without a mail server."""

import pytest
from django.core import mail as outbox

from tests.web.given import a_person, signed_in
from tests.webapp.notices.given import happened
from webapp.notices import events, kinds, services
from webapp.notices.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


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
