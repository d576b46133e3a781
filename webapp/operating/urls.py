from django.urls import path

from webapp.operating import views

urlpatterns = [
    path("livez", views.livez),
    path("readyz", views.readyz),
    path("metrics", views.metrics),
    path("operator", views.operator, name="operator"),
]
