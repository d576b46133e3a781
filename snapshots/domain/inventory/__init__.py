"""What is in the checkpoints that people upload, told in the same words for every engine."""
