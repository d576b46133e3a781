"""Whether a new version of a Flink job takes a savepoint, answered before it is tried."""
