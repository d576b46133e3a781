"""Search the events of a stored recording for words."""
