from importlib.util import find_spec

from django.urls import include, path

from webapp import health

urlpatterns = [
    path("", include("webapp.accounts.urls")),
    path("healthz", health.healthz),
]

if find_spec("snapshots.urls"):
    urlpatterns.append(path("", include("snapshots.urls")))
if find_spec("snapshots.api"):
    from snapshots.api import api

    urlpatterns.append(path("api/", api.urls))
