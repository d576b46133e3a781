"""The Spark job that searches all consistent cuts for a condition."""
