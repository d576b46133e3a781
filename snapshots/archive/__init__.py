"""The archive of engines' checkpoints: uploads and collectors fill it, pages and API read it."""
