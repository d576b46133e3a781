"""What happens at an event of a log, in one sentence."""
