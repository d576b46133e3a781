"""Decides which job runs next, runs it, and keeps the queue in step with the rows."""
