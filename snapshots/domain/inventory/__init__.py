"""What the checkpoints that people upload hold, in the same words for every engine."""
