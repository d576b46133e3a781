"""The Spark job that restores a snapshot and runs on from it."""
