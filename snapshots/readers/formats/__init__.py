"""Encodings that several readers need."""
