"""Tell people and programs what happened: by webhook and by e-mail."""
