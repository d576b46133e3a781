"""The shapes of what the API, the pages and the websockets send."""
