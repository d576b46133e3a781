"""Tables of RocksDB."""
