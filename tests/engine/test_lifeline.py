"""A rank that hears nothing of its conductor ends itself, on whatever host it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import limit
from workshop.engine import reporter

ORPHAN = (
    "import ctypes, zmq\n"
    "from workshop.engine import reporter\n"
    "reporter.SILENCE = 1.0\n"
    "public, _ = zmq.curve_keypair()\n"
    "reporter.Reporter({'address': 'tcp://127.0.0.1:1', 'server_key': public.decode(), 'token': ''}, 0)\n"
)


@pytest.mark.real
def test_an_orphan_ends_itself_even_while_it_computes() -> None:
    program = f"{ORPHAN}while True: sum(range(1000))\n"
    ended = subprocess.run([sys.executable, "-c", program], timeout=limit(60))
    assert ended.returncode == reporter.EXIT_ORPHANED


@pytest.mark.real
def test_time_in_which_it_could_not_listen_is_no_silence() -> None:
    program = (
        f"{ORPHAN}"
        "reporter.SILENCE = 4.0\n"  # its two naps may last longer than they should
        "import time\n"
        "time.sleep(0.3)\n"  # it listens
        "ctypes.PyDLL(None).usleep(5_500_000)\n"  # keeps the interpreter to itself, as some imports do
        "time.sleep(0.2)\n"  # it has its turn again
        "print('still here', flush=True)\n"
        "time.sleep(20)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=limit(60), capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (reporter.EXIT_ORPHANED, "still here\n")
