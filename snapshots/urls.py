"""The addresses of the pages; docs/architecture.md lists them."""

from django.urls import path

from snapshots.views import (
    checkpoints,
    compare,
    contents,
    jobs,
    learn,
    predicates,
    proof,
    properties,
    recordings,
    snapshot,
    topologies,
)

urlpatterns = [
    path("", recordings.recording_list, name="recordings"),
    path("recordings/<int:pk>", recordings.recording, name="recording"),
    path("recordings/<int:pk>/rename", recordings.rename, name="rename-recording"),
    path("recordings/<int:pk>/delete", recordings.delete, name="delete-recording"),
    path("recordings/<int:pk>/again", recordings.again, name="ingest-again"),
    path("recordings/<int:pk>/original", recordings.original, name="original"),
    path("recordings/<int:pk>/defects", recordings.defects, name="defects"),
    path("recordings/<int:pk>/snapshots", snapshot.by_query, name="snapshot-by-query"),
    path("recordings/<int:pk>/snapshots/<text:snapshot_id>", snapshot.snapshot, name="snapshot"),
    path("recordings/<int:pk>/checkpoints", checkpoints.checkpoint_list, name="checkpoints"),
    path("recordings/<int:pk>/compare-failovers", compare.begin, name="compare-failovers"),
    path("recordings/<int:pk>/contents", contents.of_recording, name="contents"),
    path(
        "recordings/<int:pk>/contents/<int:number>",
        contents.of_checkpoint,
        name="checkpoint-contents",
    ),
    path(
        "recordings/<int:pk>/contents/<int:number>/restore-plan",
        contents.of_restore,
        name="restore-plan",
    ),
    path("compare", compare.compare, name="compare"),
    path("recordings/<int:pk>/proof", proof.proof, name="proof"),
    path("recordings/<int:pk>/properties", properties.of_recording, name="properties"),
    path("recordings/<int:pk>/predicates", predicates.of_recording, name="predicates"),
    path("topologies", topologies.topology_list, name="topologies"),
    path("topologies/new", topologies.new, name="new-topology"),
    path("topologies/<int:pk>", topologies.topology, name="topology"),
    path("topologies/<int:pk>/delete", topologies.delete, name="delete-topology"),
    path("learn", learn.learn, name="learn"),
    path("jobs", jobs.job_list, name="jobs"),
    path("jobs/<int:pk>", jobs.job, name="job"),
    path("jobs/<int:pk>/cancel", jobs.cancel, name="cancel-job"),
]
