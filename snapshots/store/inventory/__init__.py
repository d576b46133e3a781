"""Keeps and reads the inventory of an engine's checkpoints."""
