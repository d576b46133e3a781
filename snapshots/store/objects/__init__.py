"""Recordings on an object store: requests, paths, catalogues, and the cache of what was read."""
