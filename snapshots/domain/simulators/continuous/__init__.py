"""A simulated query in continuous mode, as Spark Structured Streaming runs it."""
