"""Checkpoints of jobs of engines, kept for long: what is known of each, and what many tell."""
