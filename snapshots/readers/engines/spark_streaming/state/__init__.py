"""Readers of a checkpoint's state stores: files, schemas, rows."""
