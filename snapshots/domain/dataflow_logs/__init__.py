"""What the log of a dataflow tells of its checkpoints and failures."""
