"""The in-flight data of Flink's unaligned checkpoints."""
