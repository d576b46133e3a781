"""Every refusal of the API is a problem, see ``snapshots/problems.py``."""

from typing import Any

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from snapshots.files.uploads import too_many_files
from snapshots.problems import Invalid, NotFound, NotJson, Problem, Unauthorized, response
from snapshots.store.errors import StoreError


def install(api: NinjaAPI) -> None:
    api.add_exception_handler(Problem, _problem)
    api.add_exception_handler(ValidationError, _validation)
    api.add_exception_handler(HttpError, _http_error)
    api.add_exception_handler(StoreError, _store_error)
    api.add_exception_handler(TooManyFieldsSent, _too_many_fields)


def _problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return response(error.as_json())


def _validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first complaint says it; all of them go along."""
    complaints = [_complaint(item) for item in error.errors]
    first = complaints[0]
    sentence = f"{first['field']}: {first['sentence']}."
    return response(Invalid(sentence, field=first["field"], errors=complaints).as_json())


def _complaint(item: dict[str, Any]) -> dict[str, str]:
    """ninja places a field by its source and, for bodies, by the name of our argument."""
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
    """The only fields that come in numbers are the paths of files."""
    return response(too_many_files().as_json())


def _store_error(request: HttpRequest, error: StoreError) -> HttpResponse:
    """A stored recording that is gone or damaged is the server's state, not the caller's fault."""
    problem = Problem(f"{error} Ingest the recording again: POST /api/recordings/ID/ingest.")
    problem.code, problem.title, problem.status = "store-damaged", "Damaged recording", 409
    return response(problem.as_json())
