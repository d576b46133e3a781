"""Simulated recordings: parameters, checked, and the runs."""
