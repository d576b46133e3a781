"""Answers of Flink's REST API and History Server."""
