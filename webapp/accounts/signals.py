"""What others of the program listen to: sessions that end and accounts that close."""

from django.dispatch import Signal

session_ended = Signal()  # key_hash: see sessions.key_hash
account_closed = Signal()  # user_id
