"""The Spark job that reorders a run through a snapshot (Theorem 1)."""
