"""Keyed state of Flink's: every backend's layout, read to the same entries."""
