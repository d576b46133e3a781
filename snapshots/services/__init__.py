"""Decides and carries out requests: one function for each use case, one transaction each."""
