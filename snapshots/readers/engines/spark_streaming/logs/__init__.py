"""Readers of a checkpoint's logs: offsets, commits, files of sources and sinks."""
