from django.urls import path

from webapp.sso import views

urlpatterns = [
    path("sign-in/sso", views.begin, name="sso"),
    path("sign-in/sso/callback", views.callback, name="sso-callback"),
]
