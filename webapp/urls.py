from django.conf import settings
from django.urls import include, path

from snapshots.web.api import api
from snapshots.web.api.reference import openapi_document
from webapp import health

single_sign_on = [path("", include("webapp.sso.urls"))] if settings.OIDC_ISSUER else []

urlpatterns = [
    *single_sign_on,  # before sign-in/TOKEN
    path("", include("webapp.accounts.urls")),
    path("", include("webapp.teams.urls")),
    path("", include("webapp.notices.urls")),
    path("", include("webapp.links.urls")),
    path("", include("snapshots.urls")),
    path("api/openapi.json", openapi_document, {"api": api}),
    path("api/", api.urls),
    path("healthz", health.healthz),
    path("", include("webapp.operating.urls")),
]

handler500 = "webapp.edge.failures.failed"
