"""Readers of checkpoint files and REST answers of Apache SeaTunnel's Zeta engine."""
