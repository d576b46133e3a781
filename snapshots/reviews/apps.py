from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "snapshots.reviews"
    label = "reviews"
    default_auto_field = "django.db.models.BigAutoField"
