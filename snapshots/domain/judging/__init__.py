"""Decides what is true of a snapshot: cuts, verdicts, witnesses."""
