"""The flows of a declarative pipeline, each of which has a checkpoint for each version.

Spark keeps them in ``<storage>/_checkpoints/<catalog>/<schema>/<dataset>/<flow>/<version>``, and a
full refresh begins the next version. Only the newest version counts.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FOLDER = re.compile(r"(?P<flow>(?:.*/)?_checkpoints/(?:.*/)?[^/]+/[^/]+)/(?P<version>\d{1,9})")


@dataclass(frozen=True)
class Flow:
    """One version of a flow.

    Attributes:
        root: the folder of all of its versions.
        dataset: the table or sink that it writes.
    """

    root: str
    dataset: str
    name: str
    version: int

    @property
    def label(self) -> str:
        return f"flow {self.name} of {self.dataset}"


def flow_of(folder: str) -> Flow | None:
    """Return the flow whose checkpoint lies in a folder; None where it is no pipeline's."""
    if (match := _FOLDER.fullmatch(folder)) is None:
        return None
    dataset, name = match["flow"].split("/")[-2:]
    return Flow(match["flow"], dataset, name, int(match["version"]))


def replaced(folders: Iterable[str]) -> dict[str, int]:
    """Return the newer version of each checkpoint that a refresh has replaced, by its folder."""
    flows = {folder: flow for folder in folders if (flow := flow_of(folder)) is not None}
    newest: dict[str, int] = {}
    for flow in flows.values():
        newest[flow.root] = max(flow.version, newest.get(flow.root, 0))
    return {
        folder: newest[flow.root]
        for folder, flow in flows.items()
        if flow.version < newest[flow.root]
    }
