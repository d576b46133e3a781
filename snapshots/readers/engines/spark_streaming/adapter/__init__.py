"""Spark's uploads in the words that all engines share."""
