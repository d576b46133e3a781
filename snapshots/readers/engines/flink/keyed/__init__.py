"""Keyed state of Flink: the layouts of all state backends, read into the same entries."""
