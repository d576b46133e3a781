"""In-flight data of Flink's unaligned checkpoints."""
