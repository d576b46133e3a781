"""Puts the lines of a log in order and matches sends with receives."""
