from django.urls import path

from webapp.notices import pages

HOOK = "account/notifications/webhooks/<int:pk>"
urlpatterns = [
    path("account/notifications", pages.notifications, name="notifications"),
    path("account/notifications/mail", pages.choose_mail, name="choose-mail"),
    path("account/notifications/webhooks", pages.create_webhook, name="create-webhook"),
    path(HOOK, pages.webhook, name="webhook"),
    path(f"{HOOK}/secret", pages.change_secret, name="change-webhook-secret"),
    path(f"{HOOK}/test", pages.send_test, name="test-webhook"),
    path(f"{HOOK}/deliveries/<int:delivery>/again", pages.send_again, name="send-again"),
    path(f"{HOOK}/delete", pages.delete_webhook, name="delete-webhook"),
]
