"""Which event can have influenced which."""
