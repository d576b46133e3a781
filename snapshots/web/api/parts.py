"""The fields by which a question about a cut or a snapshot asks for a part of the answer."""

from ninja import Field, Schema

from snapshots.answers.excerpts import MOST_LISTED
from snapshots.web.api.parameters import MOST_INT


class PartQuestion(Schema):
    """The part of a cut or snapshot that is asked for; without a limit, all of it."""

    limit: int | None = Field(
        None,
        ge=1,
        le=MOST_LISTED,
        description="How many processes and how many channels are listed at most. Channels without "
        "messages are then counted in `part`, and not listed. Without it, all is listed.",
    )
    first_process: int = Field(
        0, ge=0, le=MOST_INT, description="With a limit, how many processes to skip."
    )
    first_channel: int = Field(
        0, ge=0, le=MOST_INT, description="With a limit, how many channels with messages to skip."
    )
    channel: str | None = Field(
        None,
        description="With a limit, the only channel to list, with up to so many messages, and "
        "without processes.",
    )
    first_message: int = Field(
        0, ge=0, le=MOST_INT, description="With a channel, how many of its messages to skip."
    )
    process_codes: str | None = Field(
        None,
        description="The processes to list, by their places in the topology from 0, separated by "
        "commas, at most 500. An empty text lists none. Without it, the first are listed.",
        examples=["0,3,8"],
    )
    channel_codes: str | None = Field(
        None,
        description="The channels to list, with or without messages, in the same way.",
        examples=["2,5"],
    )
    outline: bool = Field(
        False,
        description="Whether `outline` tells the positions of all processes, and how many messages "
        "the channels hold, in columns. The rest is then a part, also without a limit.",
    )
