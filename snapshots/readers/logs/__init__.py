"""Readers of event logs, one format a file."""
