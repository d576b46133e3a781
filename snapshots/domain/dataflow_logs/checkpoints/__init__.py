"""What a log tells of the checkpoints of a dataflow."""
