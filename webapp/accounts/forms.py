from django import forms

from webapp.accounts.models import ApiToken


class SignInForm(forms.Form):
    link = forms.CharField(
        max_length=1000, error_messages={"required": "Paste the link from the terminal."}
    )


class TokenForm(forms.ModelForm):
    class Meta:
        model = ApiToken
        fields = ["name"]
        error_messages = {"name": {"required": "Name the token after what will use it."}}
