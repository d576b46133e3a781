"""Declare what the API says of places, entries and trails."""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described, documented, list_of


@described
class PlaceItem(TypedDict):
    """A place in a recording or an archived job, and what became of it.

    Attributes:
        text: the place as a text, such as ``event:B:2``; see docs/reviews.md.
        kind: the first word of the text.
        words: the name of the place for people.
        state: ``there``; ``gone``; ``changed`` if another event is there since the upload was read
            again; ``not-known`` if the recording cannot be read now, and in lists for an entry of a
            state, which only the answer about a single entry looks up.
        reason: why it is not simply there, as a sentence; empty if it is.
        at: its instant in the recording's time unit, or in epoch ms for an archived job; null if it
            has none, or if that is not known.
        step: how many events have happened there; null if that is not known.
        process: the process in whose lane the diagram shows it; null if it is in no lane.
        address: the page that shows it, or shows whether it is there; null if it is not there.
        workbench: the workbench at this place; null if the workbench does not show it.
    """

    text: str
    kind: str
    words: str
    state: str
    reason: str
    at: int | None
    step: int | None
    process: str | None
    address: str | None
    workbench: str | None


@described
class DescribedPlace(PlaceItem):
    """A place with the sentence about it.

    Attributes:
        sentence: what is there, worded from the answer that the pages show; empty if the place is
            not there.
    """

    sentence: str


@described
class EntryRights(TypedDict):
    """What you may do with an entry.

    Attributes:
        edit: whether you may change its text, as its author.
        resolve: whether you may resolve and reopen it.
        delete: whether you may delete it.
        answer: whether you may answer it.
    """

    edit: bool
    resolve: bool
    delete: bool
    answer: bool


@described
class AnswerToEntry(TypedDict):
    """An answer to an entry.

    Attributes:
        id: the number under which the API knows it.
        text: the text, in Markdown.
        html: the text as HTML, of which nothing can run.
        author: the e-mail address of the author; null if the account is deleted, or if the entry
            came with a file from elsewhere.
        imported_from: the name that the file gives to the author of such an entry. It is a text and
            nobody has proven it; null if the entry was written here, or if the file has no name.
        mentions: the addresses of the people whom the text mentions and who can see it.
        created_at: when it was written, as ISO 8601 in UTC.
        edited_at: when its text was last changed, as ISO 8601 in UTC; null if it never was.
        versions: how many versions its history has, with the present one.
        version: names its present kind, text and day. Sent along with a change of these, it keeps
            the change from replacing what was saved since.
        may: what you may do with it.
    """

    id: int
    text: str
    html: str
    author: str | None
    imported_from: str | None
    mentions: list[str]
    created_at: str
    edited_at: str | None
    versions: int
    version: str
    may: EntryRights


@described
class ReviewEntry(AnswerToEntry):
    """A note, finding, question, decision or follow-up, with its answers.

    Attributes:
        number: the number that people see, counted from 1 in its recording or archived job; null
            for an answer.
        kind: ``note``, ``finding``, ``question``, ``decision`` or ``follow-up``.
        recording: the number of its recording; null if it is about an archived job.
        archived_job: the number of its archived job; null if it is about a recording.
        parent: the entry that it answers; null if it is no answer.
        place: the place that it points at; null if it is about the whole.
        sentence: what was at the place when it was written; empty if it is about the whole.
        at: the time in the system of which it speaks, in the recording's time unit or in epoch ms
            for an archived job; null if that is not known.
        when: the same time in words; empty if that is not known.
        due_on: the day on which a follow-up is due, such as ``2026-11-30``; null if it has none.
        resolved_at: when it was resolved, as ISO 8601 in UTC; null if it is open.
        resolved_by: the address of who resolved it; null if it is open, if the account is deleted,
            or if it was resolved elsewhere.
        resolution_imported_from: the name of who resolved it elsewhere; null in all other cases.
        answers: the answers to it, the oldest first; a list has the last ten of each entry.
        answers_total: how many answers it has.
    """

    number: int | None
    kind: str
    recording: int | None
    archived_job: int | None
    parent: int | None
    place: PlaceItem | None
    sentence: str
    at: int | None
    when: str
    due_on: str | None
    resolved_at: str | None
    resolved_by: str | None
    resolution_imported_from: str | None
    answers: list[AnswerToEntry]
    answers_total: int


ReviewEntryList = list_of(
    ReviewEntry,
    "ReviewEntryList",
    more={"may_write": documented(bool, "Whether you may write entries here.")},
)


@described
class TextChange(TypedDict):
    """A part of a text that a version keeps, adds or takes away.

    Attributes:
        change: ``same``, ``added`` or ``removed``.
        text: the words.
    """

    change: str
    text: str


@described
class EntryVersion(TypedDict):
    """One version of an entry, beside the version before.

    Attributes:
        at: when it was made, as ISO 8601 in UTC.
        by: the address of who made it; null if the account is deleted, or if it was made elsewhere.
        imported_from: the name of who made it elsewhere; null in all other cases.
        kind: the kind of the entry in this version.
        kind_before: the kind before; null if it is the same, or if this is the first version.
        resolved: whether the entry was resolved in this version.
        due_on: the day on which it was due in this version; null if it had none.
        text: the text of this version.
        changes: the text as parts that are the same, added or removed since the version before. In
            a text that takes too long to compare, a part that stayed may be removed and added.
    """

    at: str
    by: str | None
    imported_from: str | None
    kind: str
    kind_before: str | None
    resolved: bool
    due_on: str | None
    text: str
    changes: list[TextChange]


EntryHistory = list_of(EntryVersion, "EntryHistory")


@described
class EntryLeftovers(TypedDict):
    """What would go with an entry that is deleted, and where its words would stay.

    Attributes:
        sentence: all of it in words.
        answers: how many answers would go with it.
        reviews: the numbers of the reviews that you see and whose timeline has its words.
        unseen_reviews: how many more reviews have its words.
        public_reviews: how many of all these reviews can be read with a public link.
    """

    sentence: str
    answers: int
    reviews: list[int]
    unseen_reviews: int
    public_reviews: int


@described
class TrailEntry(TypedDict):
    """A place at which you stopped; only you see it.

    Attributes:
        id: the number of the item.
        place: the place.
        sentence: what was there.
        at: the time in the system, as in an entry.
        when: the same time in words; empty if it is not known.
        made_at: when you stopped there, as ISO 8601 in UTC.
    """

    id: int
    place: PlaceItem | None
    sentence: str
    at: int | None
    when: str
    made_at: str


TrailList = list_of(TrailEntry, "TrailList")
