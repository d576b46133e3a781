"""Send a notice as an e-mail of plain text."""

import smtplib

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage

from webapp.accounts.services import OWNER
from webapp.notices.models import Notice
from webapp.notices.outcomes import NotDelivered


def is_configured() -> bool:
    return bool(settings.EMAIL_HOST)


def address_of(user: User) -> str:
    """Return the person's address; empty for the first operator, whose name is no real address."""
    return "" if user.email == OWNER else user.email


def is_possible(user: User) -> bool:
    return is_configured() and bool(address_of(user))


def send(notice: Notice) -> None:
    """Send a notice to its owner. Raises: NotDelivered."""
    to = address_of(notice.owner)
    if not is_configured() or not to:
        raise NotDelivered("The server sends no e-mail to this person.", is_final=True)
    subject = " ".join(f"Cutline: {notice.title}".split())  # a header has one line
    try:
        EmailMessage(subject, _text(notice), settings.DEFAULT_FROM_EMAIL, [to]).send()
    except smtplib.SMTPRecipientsRefused:
        raise NotDelivered(f"The mail server refuses {to}.", is_final=True) from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotDelivered(f"The mail server did not take it: {type(error).__name__}.") from None


def _text(notice: Notice) -> str:
    lines = [notice.sentence, ""]
    if notice.path:
        lines += [f"{settings.PUBLIC_URL}{notice.path}", ""]
    lines += ["-- ", f"Choose what you get: {settings.PUBLIC_URL}/account/notifications", ""]
    return "\n".join(lines)
