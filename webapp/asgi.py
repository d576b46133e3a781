import gc
import os
import resource
import sys

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

MOST_OPEN = 16_384  # files and connections; an upload of several files keeps each of them open
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
wanted = MOST_OPEN if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN)
if soft != resource.RLIM_INFINITY and soft < wanted:
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

# To look for garbage among modules that are being imported takes a fifth of the start.
gc.disable()

from webapp.edge.handler import get_handler  # noqa: E402

http = get_handler()  # sets Django up, which the consumers' imports need

from snapshots.files import starting  # noqa: E402
from snapshots.routing import websocket_urlpatterns  # noqa: E402
from webapp.edge.bodies import BodyGate  # noqa: E402
from webapp.edge.lingering import Lingering  # noqa: E402
from webapp.edge.open_database import keep_open  # noqa: E402
from webapp.edge.origins import SameOrigin  # noqa: E402
from webapp.edge.own_files import sweep_while_this_process_runs  # noqa: E402
from webapp.edge.proxies import TrustedProxies  # noqa: E402
from webapp.edge.requests import NotePerson, Requests  # noqa: E402
from webapp.operating.web_notes import note_while_this_process_runs  # noqa: E402

try:
    starting.require_all_from_a_thread()
except starting.CannotStart as problem:
    sys.exit(str(problem))
keep_open()
sweep_while_this_process_runs()
note_while_this_process_runs()

application = ProtocolTypeRouter(
    {
        "http": Lingering(BodyGate(http)),
        "websocket": SameOrigin(AuthMiddlewareStack(NotePerson(URLRouter(websocket_urlpatterns)))),
    }
)
application = TrustedProxies(Requests(application))

gc.freeze()
gc.enable()
