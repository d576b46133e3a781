"""Inventories of real cases that the tests of the API share."""

import re
from contextlib import suppress

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, resolve

from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from snapshots.web.api import api, replies


@pytest.fixture(scope="module")
def stored(shared_data, tmp_path_factory):
    """Return a function that stores the inventory of a case once, and opens it."""
    kept: dict[str, StoredInventory] = {}

    def of(case: str) -> StoredInventory:
        if case not in kept:
            folder = tmp_path_factory.mktemp(case)
            write_inventory(folder, FlinkReader().read(shared_data / "flink" / case))
            kept[case] = StoredInventory(folder)
        return kept[case]

    return of


@pytest.fixture
def every_reply_is_documented(monkeypatch):
    """Hold the status and the media type of each reply of the API against the OpenAPI document."""
    send = Client.request

    def request(self, **kwargs):
        response = send(self, **kwargs)
        with suppress(Resolver404):
            match = resolve(response.request["PATH_INFO"])
            require_documented(response.request["REQUEST_METHOD"], match.route, response)
        return response

    monkeypatch.setattr(Client, "request", request)


def require_documented(method: str, route: str, response: HttpResponse) -> None:
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
    call = api.get_openapi_schema(path_prefix="/api/")["paths"].get(path, {}).get(method.lower())
    status = response.status_code
    if call is None or status in replies.AT_ANY_TIME:
        return
    assert status in call["responses"], f"{method} {path} answered {status}, which is undocumented"
    kinds = call["responses"][status].get("content", {})
    kind = response.headers.get("Content-Type", "").split(";")[0]
    assert kind in kinds or not kinds or method == "HEAD", f"{method} {path} sent {kind}"
