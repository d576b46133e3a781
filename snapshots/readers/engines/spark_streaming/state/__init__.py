"""The state stores of a checkpoint: files, schemas, rows."""
