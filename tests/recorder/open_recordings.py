"""A small server of open recordings that can be away, slow, overloaded or out of temper."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER, CUT, LATE, LONG, IDLE = "answer", "cut", "late", "long", "idle"


class OpenRecording:
    """Takes events by process and index, as `POST .../events` is to do.

    ``plan``: what happens to the next bodies: a status that is answered instead of taking the body,
    CUT (the connection ends before an answer), LATE (the body is taken and the answer comes too
    late), LONG (so is the answer), IDLE (the connection ends after the answer). With an
    empty plan all bodies are taken.
    """

    def __init__(self, plan=(), most_bytes=None, port=0):
        self.plan = list(plan)
        self.most_bytes = most_bytes
        self.events = {}
        self.bodies = 0
        self.tokens = set()
        handler = type("Handler", (_Handler,), {"recording": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}/api/recordings/12"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def take(self, body):
        for line in body.splitlines():
            event = json.loads(line)
            place = (event["process"], event["index"])
            assert self.events.setdefault(place, event) == event


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        recording = self.recording
        assert self.path == "/api/recordings/12/events"
        recording.tokens.add(self.headers["Authorization"])
        body = self.rfile.read(int(self.headers["Content-Length"]))
        recording.bodies += 1
        fate = recording.plan.pop(0) if recording.plan else ANSWER
        if fate == CUT:
            recording.take(body)
            self.connection.close()
            self.close_connection = True
        elif isinstance(fate, int):
            self.answer(fate, b"Not now.")
        elif recording.most_bytes and len(body) > recording.most_bytes:
            self.answer(413, b"Too large.")
        else:
            recording.take(body)
            if fate == LATE:
                time.sleep(0.6)
            self.answer(200, b"x" * 5_000 if fate == LONG else b"{}")
            self.close_connection = fate == IDLE

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, ValueError):
            self.close_connection = True
