"""The Spark job that explains the checkpoints and failures of a dataflow."""
