"""Expressions that people write, evaluated in a child process where they can do no harm."""
