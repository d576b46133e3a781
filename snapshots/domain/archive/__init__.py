"""Checkpoints of engines' jobs, kept for long: what is known of each, and of many together."""
