"""The archive of engines' checkpoints: filled by uploads and collectors, asked by pages and API."""
