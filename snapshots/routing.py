from django.urls import path

from snapshots.consumers import JobsConsumer, RecordingConsumer

websocket_urlpatterns = [
    path("ws/recordings/<int:id>", RecordingConsumer.as_asgi()),
    path("ws/jobs", JobsConsumer.as_asgi()),
]
