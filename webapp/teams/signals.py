"""Tell others that a person no longer belongs to a team, or has another role in it."""

from django.dispatch import Signal

# Sent after the commit with ``person_id`` and ``team_id``.
membership_changed = Signal()
