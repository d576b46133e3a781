"""How Flink describes types, and how it writes their values."""
