"""Where the barriers of a checkpoint in progress are: what was polled, and what follows from it."""
