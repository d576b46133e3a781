"""Turns every exception of a call into a problem of ``snapshots/problems.py``."""

from typing import Any

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from snapshots.files.uploads import too_many_files
from snapshots.problems import Invalid, NotFound, NotJson, Problem, Unauthorized, response
from snapshots.store.errors import StoreError


def install(api: NinjaAPI) -> None:
    api.exception_handler(Problem)(_problem)
    api.exception_handler(ValidationError)(_validation)
    api.exception_handler(HttpError)(_http_error)
    api.exception_handler(StoreError)(_store_error)
    api.exception_handler(TooManyFieldsSent)(_too_many_fields)


def _problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return response(error.as_json())


def _validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Answer with the first complaint as the sentence, and with all of them as ``errors``."""
    complaints = [_complaint(item) for item in error.errors]
    first = complaints[0]
    sentence = f"{first['field']}: {first['sentence']}."
    return response(Invalid(sentence, field=first["field"], errors=complaints).as_json())


def _complaint(item: dict[str, Any]) -> dict[str, str]:
    """Return the field and the sentence of one complaint.

    ninja names a field by its source and, in a body, by the name of the view's argument; the name
    of the argument is dropped.
    """
    source, *place = item["loc"]
    if source == "body" and len(place) > 1:
        place = place[1:]
    return {"field": ".".join(map(str, place)) or str(source), "sentence": item["msg"]}


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error, AuthenticationError):
        return response(
            Unauthorized(
                "Send “Authorization: Bearer TOKEN” (tokens are made on the account page), or sign "
                "in on the sign-in page."
            ).as_json()
        )
    if isinstance(error.__cause__, Problem):  # of the body's parser
        return response(error.__cause__.as_json())
    return response(_of_status(error).as_json())


def _of_status(error: HttpError) -> Problem:
    if error.status_code == 404:
        return NotFound(str(error))
    if error.status_code == 400:
        return NotJson(str(error))
    problem = Problem(f"{error}. Is the CSRF token sent along?")
    problem.code, problem.title, problem.status = "forbidden", "Forbidden", error.status_code
    return problem


def _too_many_fields(request: HttpRequest, error: TooManyFieldsSent) -> HttpResponse:
    """Answer that there are too many files: only their paths are fields that come in numbers."""
    return response(too_many_files().as_json())


def _store_error(request: HttpRequest, error: StoreError) -> HttpResponse:
    """Answer with 409, since a missing or damaged store is not the caller's fault.

    Only calls about one recording open a store, so ``id`` is the number of the recording.
    """
    match = request.resolver_match
    assert match is not None  # a call has been found, and has failed
    address = f"/api/recordings/{match.kwargs['id']}/ingest"
    problem = Problem(f"{error} Ingest the recording again: POST {address}.")
    problem.code, problem.title, problem.status = error.code, error.title, 409
    return response(problem.as_json())
