"""Shrink a recording to the smallest part that still shows one witness of a verdict."""
