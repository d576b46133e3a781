from django.urls import path, re_path

from snapshots.web.consumers import (
    ArchiveConsumer,
    JobsConsumer,
    NotesConsumer,
    NowhereConsumer,
    RecordingConsumer,
    ReviewConsumer,
    SystemsConsumer,
)

websocket_urlpatterns = [
    path("ws/recordings/<int:id>", RecordingConsumer.as_asgi()),
    path("ws/reviews/<int:id>", ReviewConsumer.as_asgi()),
    path("ws/recordings/<int:id>/notes", NotesConsumer.as_asgi(), {"kind": "recording"}),
    path("ws/archive/<int:id>", ArchiveConsumer.as_asgi()),
    path("ws/archive/<int:id>/notes", NotesConsumer.as_asgi(), {"kind": "engine_job"}),
    path("ws/jobs", JobsConsumer.as_asgi()),
    path("ws/live", SystemsConsumer.as_asgi()),
    re_path("", NowhereConsumer.as_asgi()),
]
