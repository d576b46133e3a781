from django.urls import path, re_path

from snapshots.web.consumers import (
    JobsConsumer,
    NowhereConsumer,
    RecordingConsumer,
    ReviewConsumer,
)

websocket_urlpatterns = [
    path("ws/recordings/<int:id>", RecordingConsumer.as_asgi()),
    path("ws/reviews/<int:id>", ReviewConsumer.as_asgi()),
    path("ws/jobs", JobsConsumer.as_asgi()),
    re_path("", NowhereConsumer.as_asgi()),
]
