"""Simulated runs of snapshot algorithms and of dataflow engines."""
