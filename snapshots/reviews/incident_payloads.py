"""Declare what the API says of reviews, their timelines and follow-ups."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described, documented, list_of
from snapshots.payloads.teams import OwningTeam
from snapshots.reviews.payloads import ReviewEntry


@described
class ReviewItem(TypedDict):
    """A review of an incident, as lists show it.

    Attributes:
        id: the number of the review.
        title: what happened, on one line.
        severity: ``unknown``, ``minor``, ``major`` or ``critical``.
        status: ``open``, ``in-review`` or ``closed``.
        began_at: when the incident began, as ISO 8601 in UTC; null if that is not known.
        detected_at: when somebody noticed it; null if that is not known.
        mitigated_at: when it did no more harm; null if that is not known.
        ended_at: when it was over; null if that is not known.
        team: the team that owns the review; null for a person's own.
        opened_by: the address of who opened it; null if the account is deleted.
        created_at: when it was opened.
        changed_at: when it, or its timeline, was last changed.
        revision: how often it was changed. Send it along with a change.
    """

    id: int
    title: str
    severity: str
    status: str
    began_at: str | None
    detected_at: str | None
    mitigated_at: str | None
    ended_at: str | None
    team: OwningTeam | None
    opened_by: str | None
    created_at: str
    changed_at: str
    revision: int


ReviewList = list_of(ReviewItem, "ReviewList")


@described
class ReviewSpan(TypedDict):
    """The time between two times of an incident.

    Attributes:
        name: ``to-detect``, ``to-mitigate`` or ``to-end``, each counted from when it began.
        seconds: how long it took; null if one of the two times is not known.
        words: the same in words.
    """

    name: str
    seconds: float | None
    words: str


@described
class ReviewPerson(TypedDict):
    """A person who took part.

    Attributes:
        id: the number of the person in this review.
        email: the address of the person.
        part: what they did, such as ``on call``; empty if nobody said it.
    """

    id: int
    email: str
    part: str


@described
class ReviewExhibit(TypedDict):
    """A recording, an archived job, or a checkpoint or snapshot in one of them.

    Attributes:
        id: the number of the exhibit in this review.
        name: what it was called when it was added.
        recording: the number of its recording; null if it has none, or you cannot open it.
        archived_job: the number of its archived job; null as for ``recording``.
        place: the text of the place; empty for the whole, or if you cannot open it.
        address: the page that shows it; null if you cannot open it.
        reason: why you cannot open it, as a sentence; empty if you can.
        added_at: when it was added.
    """

    id: int
    name: str
    recording: int | None
    archived_job: int | None
    place: str
    address: str | None
    reason: str
    added_at: str


@described
class ReviewRights(TypedDict):
    """What you may do with a review.

    Attributes:
        contribute: whether you may add your own entries to the timeline.
        edit: whether you may change it, its people, its exhibits and its timeline.
        delete: whether you may delete it.
    """

    contribute: bool
    edit: bool
    delete: bool


@described
class ReviewDetail(ReviewItem):
    """A review with its people and exhibits; its timeline and its log are answers of their own.

    Attributes:
        summary: the summary, in Markdown.
        summary_html: the summary as HTML, of which nothing can run.
        spans: how long it took to detect, to mitigate and to end it.
        people: who took part.
        exhibits: what belongs to it.
        rows: how many rows the timeline has.
        hidden: how many of them are hidden, by themselves or by their group.
        may: what you may do with it.
    """

    summary: str
    summary_html: str
    spans: list[ReviewSpan]
    people: list[ReviewPerson]
    exhibits: list[ReviewExhibit]
    rows: int
    hidden: int
    may: ReviewRights


@described
class ReviewRow(TypedDict):
    """A row of a timeline: an entry, words of its own, or a group of rows.

    Attributes:
        id: the number of the row.
        group: the row of the group in which it lies; null outside groups.
        is_group: whether it is a group; its ``text`` is the name of the group.
        is_hidden: whether it is hidden. A hidden row stays in the timeline.
        is_hidden_by_group: whether it is not shown because its group is hidden.
        entry: the number of its entry; null if it has none, the entry is deleted, or you cannot
            open it.
        number: the number of the entry in its recording or archived job; null as for ``entry``.
        about: the recording or archived job of the entry; empty as for ``entry``.
        address: the page that leads to the place of the entry; null as for ``entry``.
        place_state: what became of the place: ``there``, ``gone``, ``changed``, ``not-known``; null
            as for ``entry``, or if the entry has no place.
        reason: why the place is not simply there, and that the note has other words by now, in
            sentences; empty if neither is so, or for own words.
        kind: the kind that the row shows; empty if it has none.
        text: the text that the row shows, in Markdown.
        html: the same text as HTML, of which nothing can run.
        sentence: what was at the place of the entry when it was written.
        at: the time in the system that the row shows, in ``unit``; null if that is not known.
        unit: the time unit of the recording; ``epoch ms`` for an archived job, empty for own words.
        when: the same time in words; empty if it is not known.
        moment: the same time as a date, ISO 8601 in UTC; null as for ``entry``, and if the
            recording does not tell the dates of its times.
        clock: a time of day that somebody gave to the row, as ISO 8601 in UTC; null if nobody did.
        is_edited: whether the row shows another text, kind or time than the entry.
        original_text: what the entry said when its words were last taken over.
        original_kind: the kind of the entry; empty for own words.
        original_at: the time of the entry; null if that is not known.
        original_when: the same time in words.
        is_resolved: whether the entry is resolved; null as for ``entry``.
        due_on: the day on which the follow-up is due, such as ``2026-11-30``; null if it has none,
            and as for ``entry``.
        author: the address of who wrote the entry, or the own words; null if that is not known.
        imported_from: who wrote the entry elsewhere, if it was imported; null otherwise.
        added_at: when it was put into the timeline.
        changed_in: the revision of the review in which its text, kind or times were last changed.
    """

    id: int
    group: int | None
    is_group: bool
    is_hidden: bool
    is_hidden_by_group: bool
    entry: int | None
    number: int | None
    about: str
    address: str | None
    place_state: str | None
    reason: str
    kind: str
    text: str
    html: str
    sentence: str
    at: int | None
    unit: str
    when: str
    moment: str | None
    clock: str | None
    is_edited: bool
    original_text: str
    original_kind: str
    original_at: int | None
    original_when: str
    is_resolved: bool | None
    due_on: str | None
    author: str | None
    imported_from: str | None
    added_at: str
    changed_in: int


ReviewTimeline = list_of(
    ReviewRow,
    "ReviewTimeline",
    more={
        "hidden": documented(
            int, "How many rows of the whole timeline are hidden, by themselves or by their group."
        ),
        "revision": documented(int, "The revision of the review. Send it along with a change."),
    },
)


@described
class AddedEntries(TypedDict):
    """How many entries were added to a timeline.

    Attributes:
        added: how many.
    """

    added: int


@described
class LogEntry(ReviewEntry):
    """An entry of an exhibit.

    Attributes:
        about: the name of its recording or archived job.
        row: the row of the timeline that shows it; null if the timeline does not have it.
    """

    about: str
    row: int | None


ReviewLog = list_of(
    LogEntry,
    "ReviewLog",
    more={
        "unseen": documented(
            int,
            "How many exhibits are deleted or not open to you; the list leaves them out.",
        )
    },
)


@described
class FollowUpReview(TypedDict):
    """A review whose timeline has a follow-up.

    Attributes:
        id: the number of the review.
        title: its title.
    """

    id: int
    title: str


@described
class FollowUp(TypedDict):
    """A follow-up of a recording or an archived job.

    Attributes:
        id: the number of the entry.
        number: the number that people see, counted in its recording or archived job.
        text: what is to be done, in Markdown; empty if only its sentence says it.
        sentence: what was at its place when it was written; empty if it is about the whole.
        html: the text, or else the sentence, as HTML of which nothing can run.
        about: the name of its recording or archived job.
        address: the page that shows the entry.
        people: the addresses of who is to do it: whom it mentions, or else its author.
        due_on: the day on which it is due, such as ``2026-11-30``; null if it has none.
        is_overdue: whether it is open, and its day is over in UTC.
        resolved_at: when it was resolved; null if it is open.
        created_at: when it was written.
        reviews: the reviews that you see and whose timeline has it.
    """

    id: int
    number: int | None
    text: str
    sentence: str
    html: str
    about: str
    address: str
    people: list[str]
    due_on: str | None
    is_overdue: bool
    resolved_at: str | None
    created_at: str
    reviews: list[FollowUpReview]


FollowUpList = list_of(
    FollowUp,
    "FollowUpList",
    more={"overdue": documented(int, "How many of all that you see are overdue.")},
)
