class TextConverter:
    """Any text in an address, as ids of processes and snapshots are: slashes, line breaks, all."""

    regex = r"(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
