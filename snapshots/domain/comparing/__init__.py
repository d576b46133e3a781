"""Compare two global states, or two recordings, and put the largest differences first."""
