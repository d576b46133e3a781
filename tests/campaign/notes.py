"""Notes at a recording, and rows of a review: each was written once, whatever had no answer."""

from collections import Counter

from tests.campaign.client import Client

KINDS = ("note", "row")


class Notes:
    """``accepted``: the texts that were written, by kind; ``asked`` those that may have been."""

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.accepted: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self._addresses: dict[str, str] = {}

    def begin(self, client: Client, recording: int) -> None:
        review = client.make("/reviews", {"title": "the campaign"})["id"]
        self._addresses["note"] = f"/recordings/{recording}/entries"
        self._addresses["row"] = f"/reviews/{review}/timeline"

    def write(self, client: Client, kind: str, text: str) -> None:
        """Write a note or a row until it is accepted. Raises: AssertionError, TimeoutError."""
        self.asked[kind].add(text)
        client.make(self._addresses[kind], {"text": text})
        self.accepted[kind].add(text)

    def faults(self, client: Client) -> list[str]:
        """Find what was lost or doubled, and what nobody wrote."""
        faults = []
        for kind, address in self._addresses.items():
            there = Counter(item["text"] for item in client.listed(address))
            faults += [
                f"{text} was accepted and is gone" for text in self.accepted[kind] - there.keys()
            ]
            faults += [
                f"{text} is there {count} times" for text, count in there.items() if count > 1
            ]
            faults += [f"nobody wrote “{text}”" for text in there.keys() - self.asked[kind]]
        return faults
