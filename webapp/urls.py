from django.urls import include, path

from snapshots.web.api import api
from webapp import health

urlpatterns = [
    path("", include("webapp.accounts.urls")),
    path("", include("webapp.teams.urls")),
    path("", include("snapshots.urls")),
    path("api/", api.urls),
    path("healthz", health.healthz),
    path("", include("webapp.operating.urls")),
]

handler500 = "webapp.edge.failures.failed"
