"""What pages, API and websockets answer about a stored recording."""
