"""Declare the tables of people, teams, reviews, notifications and the server."""

from snapshots.web.tables.model import (
    Table,
    moment,
    number,
    text,
    truth,
    value,
    whole,
)

TOKENS = Table(
    "tokens",
    "the tokens",
    "tokens",
    (
        text("name"),
        text("prefix"),
        truth("only_reads"),
        moment("created_at"),
        moment("last_used_at"),
        moment("expires_at"),
        truth("is_expired"),
    ),
)
SESSIONS = Table(
    "sessions",
    "the sessions",
    "sessions",
    (
        moment("created_at"),
        text("address", lambda row: row.address or None),
        moment("last_used_at"),
        moment("ends_at", "expire_date"),
    ),
)
ENTRIES = Table(
    "entries",
    "what was done",
    "all_entries",
    (
        moment("at"),
        text("what", "words"),
        text("action"),
        text("subject"),
        text("actor", lambda row: row.actor or None),
        text("address", lambda row: row.address or None),
    ),
)
AUDIT = Table(
    "audit",
    "the entries that pass the filter",
    "page",
    (
        moment("at"),
        text("actor", lambda row: row.actor or None),
        text("action"),
        text("subject"),
        text("address", lambda row: row.address or None),
        value("detail", lambda row: row.detail or None),
    ),
)
_OF_DELIVERIES = (
    moment("at", "notice.at"),
    text("kind", "notice.kind"),
    text("title", "notice.title"),
    text("state"),
    moment("next_at", lambda row: row.next_at if row.is_waiting and row.tries else None),
    value(
        "tries",
        lambda row: [
            {
                "at": attempt.at.isoformat(),
                "status": attempt.status,
                "error": attempt.error or None,
                "milliseconds": attempt.milliseconds,
            }
            for attempt in row.attempts.all()
        ],
    ),
)
MAILS = Table("mails", "the e-mails that were sent", "all_mails", _OF_DELIVERIES)
DELIVERIES = Table("deliveries", "what was sent", "page", _OF_DELIVERIES)
WEBHOOKS = Table(
    "webhooks",
    "the webhooks",
    "webhooks",
    (whole("id", "pk"), text("url"), value("kinds"), truth("is_on")),
)
PEOPLE = Table(
    "people",
    "the people who pass the filter",
    "listing.whole",
    (
        whole("id", "pk"),
        text("person", "username"),
        truth("is_active"),
        truth("is_operator", "is_staff"),
        whole("recordings"),
        whole("stored", unit="B"),
        whole("jobs_open"),
        whole("collectors"),
        whole("unproven_accounts"),
        whole("invitations"),
        moment("seen_at"),
    ),
)
TEAM_ACCOUNTS = Table(
    "teams",
    "the teams",
    "teams",
    (
        whole("id", "pk"),
        text("team", "team.name"),
        whole("recordings"),
        whole("stored", unit="B"),
        whole("jobs_open"),
        whole("collectors"),
    ),
)
WORKERS = Table(
    "workers",
    "the workers",
    "health.workers",
    (
        text("host"),
        whole("pid"),
        text("version"),
        text("status"),
        text("problem"),
        value("spark"),
        value("jobs"),
        moment("started_at"),
        moment("swept_at"),
    ),
)
SUPPLIES = Table(
    "supplies",
    "what can run out",
    "health.supplies",
    (
        text("name"),
        text("of", lambda row: row["of"] or None),
        text("title"),
        text("state"),
        number("used"),
        number("limit"),
        text("unit", lambda row: row["unit"] or None),
        moment("runs_out_at"),
        text("answer"),
        text("basis", lambda row: row["basis"] or None),
        text("remedy"),
    ),
)
REVIEWS = Table(
    "reviews",
    "the reviews that pass the filter",
    "listing.whole",
    (
        whole("id", "pk"),
        text("title"),
        text("severity"),
        text("status"),
        moment("began_at"),
        moment("detected_at"),
        moment("mitigated_at"),
        moment("ended_at"),
        value("people", lambda row: [str(each.person) for each in row.participants.all()]),
        moment("changed_at"),
    ),
)
FOLLOW_UPS = Table(
    "follow-ups",
    "the follow-ups of this state",
    "all_items",
    (
        whole("id"),
        text("about"),
        whole("note", "number"),
        text("text", lambda item: item["text"] or None),
        text("sentence", lambda item: item["sentence"] or None),
        text("due_on"),
        truth("is_overdue"),
        moment("resolved_at"),
        value("people"),
        value("reviews"),
    ),
)
TEAMS = Table(
    "teams",
    "your teams",
    "memberships",
    (
        whole("id", "team_id"),
        text("team", "team.name"),
        text("role"),
        moment("since"),
    ),
)
MEMBERS = Table(
    "people",
    "the people of the team",
    "memberships",
    (
        text("person", "person.username"),
        truth("is_active", "person.is_active"),
        text("role"),
        moment("since"),
    ),
)
INVITATIONS = Table(
    "invitations",
    "the invitations that nobody has accepted",
    "invitations",
    (
        text("address"),
        text("role"),
        moment("expires_at"),
        truth("is_open"),
    ),
)
