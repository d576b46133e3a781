"""What stays of an entry that is deleted: timelines of reviews keep its words."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from snapshots import access
from snapshots.quantities import counted
from snapshots.reviews import timeline
from snapshots.reviews.models import Entry, Review, TimelineRow


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What goes with an entry, and what stays of it.

    Attributes:
        answers: how many answers go with it.
        reviews: the reviews that keep its words and that the person sees.
        unseen: how many more reviews keep its words.
        public: how many of all these reviews have a public link that works.
    """

    answers: int
    reviews: tuple[Review, ...]
    unseen: int
    public: int

    @property
    def sentence(self) -> str:
        return " ".join(filter(None, [self._of_answers(), self._of_reviews(), self._of_links()]))

    def _of_answers(self) -> str:
        if not self.answers:
            return "It goes for everybody, with its history."
        noun = "answer goes" if self.answers == 1 else "answers go"
        return f"It goes for everybody, with its history. {self.answers:,} {noun} with it."

    def _of_reviews(self) -> str:
        titles = ", ".join(f"“{review.title}”" for review in self.reviews)
        unseen = f"{counted(self.unseen, 'review')} that you do not see" if self.unseen else ""
        where = " and ".join(filter(None, [titles, unseen]))
        return f"Its words stay in the timeline of {where}." if where else ""

    def _of_links(self) -> str:
        if not self.public:
            return ""
        verb = "review has" if self.public == 1 else "reviews have"
        return f"{self.public:,} {verb} a public link, whose visitors go on reading them."


def of(user: User, entry: Entry) -> Leftovers:
    """Return what would stay of an entry if the person deleted it now."""
    keeping = Review.objects.filter(rows__entry=entry).distinct()
    seen = access.reviews(user).filter(pk__in=keeping.values("pk")).order_by("pk")
    links = access.public_links_that_work().filter(review__in=keeping)
    return Leftovers(
        answers=entry.answers.count(),
        reviews=tuple(seen),
        unseen=keeping.count() - len(seen),
        public=links.values("review").distinct().count(),
    )


def remove_rows(user: User, entry: Entry) -> None:
    """Take an entry out of the timelines of all reviews that the person may edit."""
    for row in TimelineRow.objects.filter(entry=entry).select_related("review__owner"):
        if access.may_edit(user, row.review):
            timeline.remove(user, row.review, row.pk)
