"""Readers of the checkpoints of engines, one engine a folder."""
