"""Signals to other parts of the program: sessions end, accounts close."""

from django.dispatch import Signal

session_ended = Signal()  # key_hash: see sessions.key_hash
account_closed = Signal()  # user_id
