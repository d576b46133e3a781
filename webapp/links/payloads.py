"""Build the API's answers about short and public links."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots import access
from snapshots.payloads.dates import date, optional_date
from snapshots.payloads.declaring import described, list_of
from webapp.links.models import PublicLink, ShortLink
from webapp.links.short import address_of, target_of


@described
class ShortLinkItem(TypedDict):
    """A short link to a page about a recording or an archived job.

    Attributes:
        key: the random part of the address.
        link: the complete short address.
        address: the path and query to which it leads.
        view: the view of the workbench that it keeps; null for other pages.
        name: what it is called; may be empty.
        recording: the number of the recording that the page is about; null for an archived job.
        archived_job: the number of the archived job that it is about; null for a recording.
        made_by: the e-mail address of whoever made it.
        made_at: when it was made, as ISO 8601 in UTC.
        may_delete: whether you may rename and delete it.
    """

    key: str
    link: str
    address: str
    view: dict[str, Any] | None
    name: str
    recording: int | None
    archived_job: int | None
    made_by: str
    made_at: str
    may_delete: bool


ShortLinkList = list_of(ShortLinkItem, "ShortLinkList")


@described
class PublicLinkItem(TypedDict):
    """A public link, without its address.

    Attributes:
        id: the number of the link.
        name: what it is called; may be empty.
        recording: the number of the recording that it shows; null if it shows a review.
        review: the number of the review that it shows; null if it shows a recording.
        with_notes: whether it shows the notes and the names of their authors.
        with_downloads: whether the uploaded log can be downloaded.
        works: whether it works now. It does not after its end, and while the server or the team
            forbids public links, after what it shows has moved, or once its maker is no editor.
        made_by: the e-mail address of whoever made it.
        made_at: when it was made, as ISO 8601 in UTC.
        expires_at: when it stops working, as ISO 8601 in UTC; null if it does not by itself.
        uses: how often it was opened. Programs that show previews of links count, too.
        last_used_at: when it was opened last, as ISO 8601 in UTC; null if it never was.
    """

    id: int
    name: str
    recording: int | None
    review: int | None
    with_notes: bool
    with_downloads: bool
    works: bool
    made_by: str
    made_at: str
    expires_at: str | None
    uses: int
    last_used_at: str | None


PublicLinkList = list_of(PublicLinkItem, "PublicLinkList")


@described
class MadePublicLink(TypedDict):
    """A new public link.

    Attributes:
        public_link: the link without its address.
        link: the address that opens it; it cannot be shown again, and is empty in a repeated
            answer.
    """

    public_link: PublicLinkItem
    link: str


@described
class PublicLinksOfTeam(TypedDict):
    """Whether a team has public links.

    Attributes:
        allowed: whether the owners of the team allow them.
        allowed_by_server: whether the operator of the server allows them; without that there are
            none.
    """

    allowed: bool
    allowed_by_server: bool


def short_link_item(row: ShortLink, user) -> ShortLinkItem:
    """Return a short link as the person sees it."""
    return {
        "key": row.key,
        "link": address_of(row),
        "address": target_of(row),
        "view": row.view,
        "name": row.name,
        "recording": row.recording_id,
        "archived_job": row.engine_job_id,
        "made_by": row.made_by.get_username(),
        "made_at": date(row.made_at),
        "may_delete": access.may_delete_link(user, row),
    }


def public_link_item(row: PublicLink) -> PublicLinkItem:
    """Return a public link without its address, which is not kept."""
    return {
        "id": row.pk,
        "name": row.name,
        "recording": row.recording_id,
        "review": row.review_id,
        "with_notes": row.with_notes,
        "with_downloads": row.with_downloads,
        "works": access.public_links_that_work().filter(pk=row.pk).exists(),
        "made_by": row.made_by.get_username(),
        "made_at": date(row.made_at),
        "expires_at": optional_date(row.expires_at),
        "uses": row.uses,
        "last_used_at": optional_date(row.last_used_at),
    }
