"""Reads the state in checkpoints of Structured Streaming with Spark."""
