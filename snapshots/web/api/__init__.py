"""The HTTP API under /api/: whatever a page can do, a program can do.

A call fetches through ``access``, acts through ``services`` or ``answers``, and replies with a
payload. The OpenAPI document is the only list of calls: the docstring of a view is the description
of its call.
"""

from functools import cache
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema, get_schema
from ninja.operation import Operation

from snapshots.web.api import (
    archive,
    bisect,
    checkpoints,
    comparison,
    errors,
    first_answer,
    incidents,
    inventory,
    jobs,
    live_systems,
    mappings,
    opened,
    post_mortem,
    predicates,
    properties,
    recordings,
    replay,
    replies,
    reruns,
    reviews,
    sharing,
    shrinking,
    snapshots,
    tables,
    topologies,
    uploads,
)
from snapshots.web.api.auth import Bearer, SessionWithCsrf
from snapshots.web.api.reference import Reference
from snapshots.web.json import OrjsonParser, OrjsonRenderer
from webapp.accounts import api as accounts
from webapp.links import api as links
from webapp.notices import api as notices
from webapp.operating import api as operating
from webapp.operating import health_api
from webapp.teams import api as teams


class Api(NinjaAPI):
    """Names operations after the modules of version 0.1, since clients are made from the names."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        name = super().get_openapi_operation_id(operation)
        name = name.replace("snapshots_web_api_inventory_", "snapshots_web_api_contents_")
        return name.replace("snapshots_web_api_", "snapshots_api_")

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """Return the OpenAPI document, which takes a second to make, so that it is made once."""
        if path_prefix is None:
            path_prefix = self.get_root_path(path_params or {})
        return _document(self, path_prefix)


@cache
def _document(api: NinjaAPI, path_prefix: str) -> OpenAPISchema:
    document = get_schema(api, path_prefix)
    replies.describe(document)
    return document


DESCRIPTION = """Whatever a page of Cutline can do, this API can do.

Send `Authorization: Bearer TOKEN`, or the session of a signed-in browser with its CSRF token. A
token of scope `read` changes nothing.

Every refusal is `application/problem+json` with `type`, `title`, `status` and `detail`. For input
it also has `line`, `field` and `defects`. A call that takes another role in a team answers 403
`needs-role`, with your `role` and the least role that it `needs`.

Long lists take `limit` and `offset`; `total` counts all items. What takes long answers 202 with the
number of a job. Ids of processes and snapshots are any text: in an address they are
percent-encoded, a slash as `%2F` or as it is.

`docs/api.md` has an example and all kinds of refusals."""

api = Api(
    title="Cutline",
    version="1",
    description=DESCRIPTION,
    auth=[Bearer(), SessionWithCsrf()],
    parser=OrjsonParser(),
    renderer=OrjsonRenderer(),
    urls_namespace="api",
    docs=Reference(),
)
errors.install(api)
api.add_router("", recordings.router, tags=["recordings"])
api.add_router("", uploads.router, tags=["recordings"])
api.add_router("", opened.router, tags=["recordings"])
api.add_router("", live_systems.router, tags=["recordings"])
api.add_router("", snapshots.router, tags=["snapshots"])
api.add_router("", shrinking.router, tags=["snapshots"])
api.add_router("", first_answer.router, tags=["answer"])
api.add_router("", checkpoints.router, tags=["checkpoints"])
api.add_router("", inventory.router, tags=["contents"])
api.add_router("", archive.router, tags=["archive"])
api.add_router("", replay.router, tags=["replay"])
api.add_router("", reruns.router, tags=["replay"])
api.add_router("", comparison.router, tags=["replay"])
api.add_router("", properties.router, tags=["properties"])
api.add_router("", tables.router, tags=["tables"])
api.add_router("", bisect.router, tags=["properties"])
api.add_router("", predicates.router, tags=["predicates"])
api.add_router("", jobs.router, tags=["jobs"])
api.add_router("", topologies.router, tags=["topologies"])
api.add_router("", reviews.router, tags=["reviews"])
api.add_router("", incidents.router, tags=["reviews"])
api.add_router("", post_mortem.router, tags=["reviews"])
api.add_router("", mappings.router, tags=["mappings"])
api.add_router("", sharing.router, tags=["teams"])
api.add_router("", accounts.router, tags=["account"])
api.add_router("", teams.router, tags=["teams"])
api.add_router("", links.router, tags=["links"])
api.add_router("", notices.router, tags=["notifications"])
api.add_router("", operating.router, tags=["operator"])
api.add_router("", health_api.router, tags=["operator"])

__all__ = ["api"]
