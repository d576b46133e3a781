"""Runs a recording again: from a snapshot, or in another order (Theorem 1)."""
