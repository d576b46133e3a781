"""The logs of a checkpoint: offsets, commits, files of sources."""
