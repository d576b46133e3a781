"""Java's serialization streams, read by their grammar."""
