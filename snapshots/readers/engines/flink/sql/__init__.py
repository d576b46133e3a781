"""Queries of Flink SQL: what their operators hold, and what names their columns."""
