"""Conditions that people write, and the cuts at which they hold."""
