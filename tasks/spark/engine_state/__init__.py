"""Reads the state of Spark's own checkpoints with Spark."""
