"""Checkpoints and savepoints that Apache Flink wrote. Format: docs/formats.md."""
