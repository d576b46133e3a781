"""A simulated query in micro-batches, as Spark Structured Streaming runs it."""
