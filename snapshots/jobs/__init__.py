"""Jobs: which one runs next, and how the queue is kept in step with the rows."""
