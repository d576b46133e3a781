"""Reads checkpoints and savepoints that Apache Flink wrote.

Source: docs/formats/flink-files.md.
"""
