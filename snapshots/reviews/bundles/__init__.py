"""Recordings with their notes, as one file that another Cutline reads."""
