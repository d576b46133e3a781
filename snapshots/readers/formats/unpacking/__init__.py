"""Archives unpacked into a folder of their own, within limits."""
