"""Drawings that the server makes as SVG, and the layouts that are the same at every size."""
