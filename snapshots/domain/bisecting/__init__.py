"""Find the first state of a series at which a condition holds, and what changed there."""
