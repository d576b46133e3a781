"""The position of an unfinished checkpoint's barriers, derived from polls of the engine."""
