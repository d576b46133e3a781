"""Keep recordings as sorted Arrow tables, and answer questions about them by binary search."""
