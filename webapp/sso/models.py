from django.conf import settings
from django.db import models
from django.utils import timezone

LONGEST_SUBJECT = 191  # characters, as many as allauth takes; providers give 255 at most


class Identity(models.Model):
    """The account of a person at an OpenID provider, which signs that person in.

    A provider may give an e-mail address to somebody else, but never a subject. allauth's own
    table is not used, because its rows would be in the way once the setting is removed again.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=LONGEST_SUBJECT)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_per_subject"),
            models.UniqueConstraint(fields=["issuer", "user"], name="one_subject_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"
