"""The roles that people have in a team, from the least to the most that a role may do."""

from enum import StrEnum


class Role(StrEnum):
    """A person's role in a team. Each role may do what the roles before it may do.

    ``viewer`` looks, ``commenter`` writes notes, ``editor`` changes, uploads and deletes, and
    ``owner`` decides who belongs to the team.
    """

    VIEWER = "viewer"
    COMMENTER = "commenter"
    EDITOR = "editor"
    OWNER = "owner"

    def reaches(self, least: "Role") -> bool:
        """Tell whether this role may do what ``least`` may do."""
        return _RANKS[self] >= _RANKS[least]

    @classmethod
    def from_(cls, least: "Role") -> "list[Role]":
        """Return the roles that may do what ``least`` may do."""
        return [role for role in cls if role.reaches(least)]


_RANKS = {role: rank for rank, role in enumerate(Role)}
CHOICES = [(role.value, role.value) for role in Role]
