"""Tell others what collectors find."""

from django.dispatch import Signal

# Sent after the commit with ``job``, when a running engine has reported it or reports it no more.
job_reported = Signal()
