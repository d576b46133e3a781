"""Flink's types: their descriptions in checkpoints, and their values."""
