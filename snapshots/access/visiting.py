"""Decide what a visitor reaches, who has no account and follows a public link."""

from django.contrib.auth.models import AnonymousUser

from webapp.links.models import PublicLink


class Visitor(AnonymousUser):
    """Somebody who is not signed in and follows a public link.

    Attributes:
        link: the public link, which worked when the visitor was made.
    """

    def __init__(self, link: PublicLink) -> None:
        super().__init__()
        self.link = link


_READ = ("GET", "HEAD")
# What the workbench needs, and the page of a review, as the routes of the addresses; a visitor
# reaches nothing else.
SHOWN = {
    "reviews/<int:pk>": _READ,
    "recordings/<int:pk>": _READ,
    "api/recordings/<int:id>/topology": _READ,
    "api/recordings/<int:id>/snapshots": _READ,
    "api/recordings/<int:id>/snapshots-in-brief": _READ,
    "api/recordings/<int:id>/snapshots/<text:snapshot>": _READ,
    "api/recordings/<int:id>/window": _READ,
    "api/recordings/<int:id>/frames": _READ,
    "api/recordings/<int:id>/cuts": ("POST",),
    "api/recordings/<int:id>/search": _READ,
    "api/recordings/<int:id>/events/<text:process>/<int:index>": _READ,
    "api/recordings/<int:id>/cones/<text:process>/<int:index>": _READ,
}
WITH_NOTES = {"api/recordings/<int:id>/entries": _READ}
WITH_DOWNLOADS = {"recordings/<int:pk>/original": _READ}


def may_visit(visitor: Visitor, method: str, route: str) -> bool:
    """Tell whether the visitor may send a request of this kind.

    ``recordings`` and ``reviews`` decide about what it may be.
    """
    shown = dict(SHOWN)
    shown |= WITH_NOTES if visitor.link.with_notes else {}
    shown |= WITH_DOWNLOADS if visitor.link.with_downloads else {}
    return method in shown.get(route, ())
