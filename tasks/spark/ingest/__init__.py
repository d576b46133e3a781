"""The Spark job that turns a log into a stored recording."""
