"""Answers questions of pages, API and websockets about a stored recording."""
