"""The addresses of the operator's pages, below /operator/."""

from django.urls import path

from webapp.operating import audit_pages, people_pages

urlpatterns = [
    path("people", people_pages.people_list, name="people"),
    path("people/<int:pk>", people_pages.person, name="person"),
    path("people/<int:pk>/limits", people_pages.allow, name="allow-person"),
    path("people/<int:pk>/hand-over", people_pages.hand_over, name="hand-over"),
    path("people/<int:pk>/<slug:slug>", people_pages.act, name="act-on-person"),
    path("audit", audit_pages.audit_log, name="audit"),
]
