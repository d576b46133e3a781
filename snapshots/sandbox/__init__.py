"""Evaluates expressions that people write, in a child process where they can do no harm."""
