"""Open recordings: the journal of what has come, and what it says.

No framework is imported here.
"""
