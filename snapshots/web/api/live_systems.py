"""The calls of running systems: how they are, and what people ask of them."""

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema
from pydantic import ConfigDict

from snapshots import access
from snapshots.payloads.live_systems import AcceptedOrder, LiveSystems, Orders
from snapshots.services.live_systems import order, systems_of, tell
from snapshots.web.api.parameters import RecordingId
from snapshots.web.json import reply
from webapp.accounts.auth import SignedInRequest

router = Router()

Name = Annotated[str, Field(max_length=1000)]
Amount = Annotated[int, Field(ge=-(2**53), le=2**53)]
Seconds = Annotated[float, Field(ge=0, le=1e11)]


class Told(Schema):
    model_config = ConfigDict(extra="forbid")


class ToldProcess(Told):
    name: Name = Field(description="The process, as the header names it.")
    state: Literal["starting", "running", "killed", "stopped"] = Field(
        description="Whether it runs."
    )
    since: Seconds = Field(description="Since when it is so, in seconds since 1970.")
    balance: Amount | None = Field(description="The amount that it reported last; null if unknown.")


class ToldSnapshot(Told):
    name: Name = Field(description="The snapshot.")
    initiator: Name | None = Field(description="Who began it; null if it was read by clocks.")
    states: Amount = Field(description="The sum of the recorded states.")
    channels: Amount | None = Field(description="The sum in the channels; null if not recorded.")
    at: Seconds = Field(description="When it was complete, in seconds since 1970.")


class ToldSystemBody(Told):
    epoch: int = Field(ge=0, le=10**12, description="How often the system went back.")
    total: Amount = Field(description="The sum of all states at the start.")
    processes: list[ToldProcess] = Field(max_length=100, description="Its processes.")
    snapshots: list[ToldSnapshot] = Field([], max_length=20, description="The last, newest first.")
    notes: list[Annotated[str, Field(max_length=2000)]] = Field(
        [], max_length=10, description="What the command said last."
    )


class Wanted(Told):
    action: Literal["snapshot", "kill", "restore", "close"] = Field(description="What to do.")
    process: Name | None = Field(None, description="The process, of a snapshot or a kill.")


@router.get("/live", response=LiveSystems)
def list_live_systems(request: HttpRequest) -> HttpResponse:
    """List your open recordings and those of your teams, with the systems behind them."""
    rows = access.recordings(request.user)
    return reply(systems_of(rows))


@router.post("/recordings/{int:id}/system", response=Orders)
def tell_of_system(request: SignedInRequest, id: RecordingId, body: ToldSystemBody) -> HttpResponse:
    """Tell how the system of an open recording is, and take what people asked for.

    The command that runs a system calls this a few times a second. Each process that it tells of is
    one of the recording's header, and is told of once.
    """
    row = access.own_recording(request.user, id)
    return reply({"orders": tell(row, body.dict())})


@router.post("/recordings/{int:id}/orders", response={202: AcceptedOrder})
def order_of_system(request: SignedInRequest, id: RecordingId, body: Wanted) -> HttpResponse:
    """Ask the command of a running system to take a snapshot, kill a process, restore or close.

    409 if no command is connected, or its system has no such process.
    """
    row = access.own_recording(request.user, id)
    order(row, body.action, body.process)
    return reply({"recording": row.pk}, 202)
