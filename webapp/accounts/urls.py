from django.urls import path

from webapp.accounts import account_pages, recorder_download, views

urlpatterns = [
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-in/<str:token>", views.follow_link, name="follow-link"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("account", account_pages.account, name="account"),
    path("account/activity", account_pages.activity, name="activity"),
    path("account/tokens", account_pages.create_token, name="create-token"),
    path("account/tokens/<int:pk>/revoke", account_pages.revoke_token, name="revoke-token"),
    path("account/recorder/<str:name>", recorder_download.recorder, name="recorder"),
    path("account/sessions/end", account_pages.end_other_sessions, name="end-other-sessions"),
    path("account/sessions/<str:pk>/end", account_pages.end_session, name="end-session"),
]
