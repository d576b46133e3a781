"""Save, import and delete topologies.

Raises: problems.Problem for a wrong request.
"""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from snapshots.models import Topology
from snapshots.simulating import topology_documents
from webapp.accounts import audit


def save_topology(user, document: Any, *, topology: Topology | None = None) -> Topology:
    """Create a topology, or give ``topology`` a new definition. Raises: Refused."""
    definition = topology_documents.checked(document)
    topology = topology or Topology(owner=user)
    topology.name = definition.pop("name")
    topology.definition = definition
    topology.save()
    return topology


def import_topology(user, file: UploadedFile | None, text: str, name: str = "") -> Topology:
    """Create a topology from ``.top`` text, JSON or an edge list, given as a file or as text.

    Raises: Refused with line and field.
    """
    if file is not None:
        text = topology_documents.decoded(file.read(topology_documents.MAX_TEXT_BYTES + 1))
        file_name = file.name or ""
        name = name or topology_documents.checked_name(file_name.rpartition(".")[0] or file_name)
    return save_topology(user, topology_documents.read(text, name or "imported topology"))


@transaction.atomic
def delete_topology(topology: Topology, by) -> None:
    """Delete a topology; recordings simulated on it keep a copy of it."""
    audit.note(audit.DELETED, by, f"topology {topology.pk} “{topology.name}”")
    topology.delete()
