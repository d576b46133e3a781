"""The addresses of the operator's pages, and those of health and metrics."""

from django.urls import path

from webapp.operating import audit_pages, people_pages, views

urlpatterns = [
    path("livez", views.livez),
    path("readyz", views.readyz),
    path("metrics", views.metrics),
    path("operator", views.operator, name="operator"),
    path("operator/people", people_pages.people_list, name="people"),
    path("operator/people/<int:pk>", people_pages.person, name="person"),
    path("operator/people/<int:pk>/limits", people_pages.allow, name="allow-person"),
    path("operator/people/<int:pk>/hand-over", people_pages.hand_over, name="hand-over"),
    path("operator/people/<int:pk>/<slug:slug>", people_pages.act, name="act-on-person"),
    path("operator/teams/<int:pk>", people_pages.team, name="team-of-operator"),
    path("operator/teams/<int:pk>/limits", people_pages.allow_team, name="allow-team"),
    path("operator/audit", audit_pages.audit_log, name="audit"),
]
