from django.urls import include, path

from snapshots.api import api
from webapp import health

urlpatterns = [
    path("", include("webapp.accounts.urls")),
    path("", include("snapshots.urls")),
    path("operator/", include("webapp.operating.urls")),
    path("api/", api.urls),
    path("healthz", health.healthz),
]
