from django import forms

from webapp.accounts.models import ApiToken
from webapp.accounts.services import LONGEST_DAYS

DAYS = f"Enter a whole number of days from 1 to {LONGEST_DAYS:,}, or nothing."


class SignInForm(forms.Form):
    link = forms.CharField(
        max_length=1000, error_messages={"required": "Paste the link from the terminal."}
    )


class TokenForm(forms.Form):
    """A new token. Without a scope it may write, and without days it never expires."""

    name = forms.CharField(
        max_length=100, error_messages={"required": "Name the token after what will use it."}
    )
    scope = forms.ChoiceField(
        choices=ApiToken.Scope.choices,
        required=False,
        error_messages={"invalid_choice": "The scope must be read or write."},
    )
    days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=LONGEST_DAYS,
        error_messages={"invalid": DAYS, "min_value": DAYS, "max_value": DAYS},
    )

    def clean_scope(self) -> str:
        return self.cleaned_data["scope"] or ApiToken.Scope.WRITE
