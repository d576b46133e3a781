"""Keeps recordings as sorted Arrow tables, and answers from them by binary search."""
