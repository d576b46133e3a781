"""Analyses of dataflow logs: checkpoints and failures."""
