"""Check views of the workbench that somebody sends: what each field of one may hold.

static/js/lib/view.js writes views, and checks them again against the recording when one is shown.
"""

from typing import Annotated, Any, Literal

from django.conf import settings
from ninja import Schema
from pydantic import ConfigDict, Field, ValidationError

from snapshots.problems import Invalid

LONGEST = 1000  # characters of an id or a filter, as in view.js
MOST_NAMES = 500  # names in a list, as in view.js

Text = Annotated[str, Field(max_length=LONGEST)]
Names = Annotated[list[Text], Field(max_length=MOST_NAMES)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Thousandths = Annotated[int, Field(ge=40, le=950)]


class _Part(Schema):
    model_config = ConfigDict(strict=True, extra="forbid", populate_by_name=True)


class Selection(_Part):
    """What is selected; the fields depend on ``of``."""

    of: Literal["event", "message", "process", "channel"] = Field(
        ..., description="`event`, `message`, `process` or `channel`."
    )
    process: Text | None = Field(None, description="The id of the process.")
    index: Count | None = Field(None, description="The number of the event in its process.")
    channel: Text | None = Field(None, description="The id of the channel.")
    message: Text | None = Field(None, description="The id of the message.")


class Lanes(_Part):
    """Which lanes the diagram shows."""

    filter: Text = Field("", description="Part of the names of the processes that are shown.")
    sort: Text = Field("log", description="The order of the lanes.")
    grouped: bool = Field(False, description="Whether lanes are grouped by name.")
    fitted: bool = Field(False, description="Whether all lanes share the height.")
    open: Names = Field([], description="The groups that are open.")
    pinned: Names = Field([], description="The lanes at the top.")
    first: Text | None = Field(None, description="The first lane in view; null for the first.")
    control: bool = Field(True, description="Whether coordinators and their signals are drawn.")


class Filters(_Part):
    """The filters of the lists."""

    channels: Text = Field("", description="Part of the ids of the channels that are listed.")
    full: bool | None = Field(None, description="Whether empty channels are left out.")
    states: Text = Field("", description="Part of the ids of the processes that are listed.")


class Panels(_Part):
    """The arrangement of the panels."""

    folded: Names = Field([], description="The panels that are folded.")
    tables: Names = Field([], description="The panels that show tables in place of charts.")
    order: Names = Field([], description="The order of the panels.")
    sizes: Annotated[dict[Text, Thousandths], Field(max_length=50)] = Field(
        {}, description="The sizes of panels, in thousandths."
    )
    tab: Text = Field("contents", description="The tab beside the diagram.")


class View(_Part):
    """The complete state of a workbench. What is absent is as at first."""

    axis: Literal["time", "order"] = Field("time", description="The axis: `time` or `order`.")
    now: Number | None = Field(None, description="Where the cursor is.")
    from_: Number | None = Field(None, alias="from", description="The left edge of the diagram.")
    to: Number | None = Field(None, description="The right edge of the diagram.")
    snapshot: Text | None = Field(None, description="The chosen snapshot.")
    compared: Text | None = Field(None, description="The snapshot that it is compared with.")
    selection: Selection | None = Field(None, description="What is selected.")
    cut: Annotated[list[Count], Field(max_length=settings.MAX_PROCESSES)] | None = Field(
        None, description="The dragged cut: how many events of each process are inside."
    )
    idle: bool = Field(False, description="Whether idle time is folded.")
    lanes: Lanes | None = Field(None, description="Which lanes are shown.")
    filters: Filters | None = Field(None, description="The filters of the lists.")
    panels: Panels | None = Field(None, description="The arrangement of the panels.")

    def as_json(self) -> dict[str, Any]:
        """Return the view as it was sent."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def checked_view(value: Any) -> dict[str, Any]:
    """Return a view that somebody sent as JSON. Raises: Invalid, which names the field."""
    try:
        return View.model_validate(value).as_json()
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["view", *map(str, first["loc"])])
        raise Invalid(f"{field}: {first['msg']}.", field=field) from None
