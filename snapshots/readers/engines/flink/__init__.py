"""Readers of checkpoints, savepoints and REST answers of Apache Flink.

Source: docs/formats/flink-files.md.
"""
