"""The registry of a websocket's messages, and the page that is printed from it."""

from snapshots.web import consumers, messages


def test_the_page_of_the_websockets_is_up_to_date():
    page = messages.PAGE.read_text()
    assert page == messages.printed(page), "Write it again: python -m snapshots.web.messages"


def test_each_message_is_taken_once():
    assert len(set(consumers.TAKEN)) == len(consumers.TAKEN) == len(messages.OF_A_CLIENT)
