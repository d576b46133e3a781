"""The Spark job that judges the snapshots of a stored recording."""
