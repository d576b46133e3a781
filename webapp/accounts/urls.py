from django.urls import path

from webapp.accounts import views

urlpatterns = [
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-in/<str:token>", views.follow_link, name="follow-link"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("account", views.account, name="account"),
    path("account/tokens", views.create_token, name="create-token"),
    path("account/tokens/<int:pk>/revoke", views.revoke_token, name="revoke-token"),
]
