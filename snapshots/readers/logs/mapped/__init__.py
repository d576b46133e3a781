"""Any log of JSON lines, read by a mapping."""
