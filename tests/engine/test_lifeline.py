"""A rank that hears nothing of its conductor ends itself, on whatever host it is."""

from __future__ import annotations

import subprocess
import sys
import time

from workshop.engine import reporter


def test_an_orphan_ends_itself_even_while_it_computes() -> None:
    program = (
        "import time, zmq\n"
        "from workshop.engine import reporter\n"
        "reporter.SILENCE = 1.0\n"
        "public, _ = zmq.curve_keypair()\n"
        "reporter.Reporter({'address': 'tcp://127.0.0.1:1', 'server_key': public.decode(), 'token': ''}, 0)\n"
        "while True: sum(range(1000))\n"
    )
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", program], timeout=30)
    assert ended.returncode == reporter.EXIT_ORPHANED
    assert time.monotonic() - began < 15
