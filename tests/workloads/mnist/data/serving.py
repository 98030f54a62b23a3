"""A real server for downloads, on a port of its own."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves one file, in the way that the test chooses, and counts how often it is asked."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.status = 200
        self.silent = False  # accepts, and never answers
        self.asked: list[str] = []
        self.closing = threading.Event()
        self.address = ""


@contextmanager
def serve(data: bytes, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(data)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            if server.silent:
                server.closing.wait()
                return
            if server.status in (301, 302):
                self.send_response(server.status)
                self.send_header("Location", "/elsewhere.npz")
                server.status = 200
            else:
                self.send_response(server.status)
            self.end_headers()
            self.wfile.write(server.data)

        def log_message(self, *words: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
    scheme, host = ("https", "localhost") if context else ("http", "127.0.0.1")
    server.address = f"{scheme}://{host}:{listening.server_port}/mnist.npz"
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listening.shutdown()
        thread.join()
        listening.server_close()
