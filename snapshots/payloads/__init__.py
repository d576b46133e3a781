"""The shapes of what the API, the pages and the websockets send.

`declaring` makes them from the dataclasses of the domain and the store wherever it can.
"""
