"""The database engine behind ``DATABASE_URL=postgres://…``; Django looks for it in ``base``."""
