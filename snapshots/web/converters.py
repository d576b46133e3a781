class TextConverter:
    """Accepts any text in an address, also with slashes, as ids of processes and snapshots are."""

    regex = r"(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
