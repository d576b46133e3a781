from django.apps import AppConfig


class SsoConfig(AppConfig):
    name = "webapp.sso"
    default_auto_field = "django.db.models.BigAutoField"
