"""The conductor's connection to a session's agent on another host (`workshop.runtime.host_agent`)."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO, Any

from workshop.core.parent_death import guarded
from workshop.runtime import clocks

SSH = "WORKSHOP_SSH"  # the program that reaches other hosts, where it isn't ssh
CONNECT = 8  # seconds
ASK = (2, 3)  # ssh asks after so many seconds of silence whether the other end lives, so many times
ALIVE = "alive"  # what is asked all the time
SAMPLES = 30  # questions whose answers tell the clock
LAST_WORDS = 0.5  # seconds that ssh gets to end when it has closed its output
CLOSED = 3.0  # seconds that an agent gets to clean up


def ssh_options() -> list[str]:
    """Options of ssh: it asks for no password, waits only so long, and notices a host that is gone."""
    every, times = ASK
    settings = {
        "BatchMode": "yes",
        "ConnectTimeout": CONNECT,
        "ServerAliveInterval": every,
        "ServerAliveCountMax": times,
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


class AgentClient:
    """The connection to another host's agent. Opening it doesn't wait. The thread that opens it has to live as long as
    the connection (`guarded`)."""

    def __init__(self, host: str, ssh: str, tag: str) -> None:
        self.host = host
        self.answered = False
        self.kills = 0  # by its kernel, of processes for want of memory, when it answered last
        self.heard = time.monotonic()  # when it answered last, or was opened
        self._samples: deque[clocks.Sample] = deque(maxlen=SAMPLES)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._complaints: deque[str] = deque(maxlen=20)  # by ssh, or by what should have been the agent
        self._chatter: deque[str] = deque(maxlen=20)  # on its standard output, where a login may greet
        self._asked: deque[float] = deque()
        self._lock = threading.Lock()
        paths = [f"PYTHONPATH={os.environ['PYTHONPATH']}"] if os.environ.get("PYTHONPATH") else []
        agent = ["exec", "env", *paths, sys.executable, "-P", "-m", "workshop.runtime.host_agent", tag]
        self._process = subprocess.Popen(
            guarded([ssh, *ssh_options(), "-T", host, shlex.join(agent)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self._process.stdout is not None and self._process.stderr is not None, "they are pipes"
        self._over = threading.Event()  # nothing more will be answered
        self._noting = threading.Thread(target=self._note, args=(self._process.stderr,), daemon=True)
        self._noting.start()
        threading.Thread(target=self._hear, args=(self._process.stdout,), name=f"post-{host}", daemon=True).start()

    def ping(self) -> None:
        """Ask for a sign of life, without waiting for it."""
        self._tell(ALIVE)

    def _tell(self, about: str, **more: Any) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        with self._lock:
            self._asked.append(time.time())
            try:
                self._process.stdin.write(json.dumps({"about": about, **more}).encode() + b"\n")
            except (OSError, ValueError):
                self._asked.pop()  # the line is broken, which `ended` knows

    def ask(self, about: str, seconds: float, **more: Any) -> Mapping[str, Any] | None:
        """Ask the agent something. None when no answer came within `seconds`, or the line broke."""
        deadline = time.monotonic() + seconds
        self._tell(about, **more)
        while True:
            try:
                answer = self._answers.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                return None
            if answer is None:
                self._answers.put(None)  # for whoever asks next
                return None
            if answer["about"] == about:
                return answer

    @property
    def offset(self) -> clocks.Offset:
        """The difference between the other host's clock and ours. Raises ValueError before the first answer."""
        return clocks.offset(list(self._samples))

    @property
    def ended(self) -> int | None:
        """The exit code of the ssh program, whose output has been read to its end then; None while it runs."""
        if self._over.is_set():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WORDS)
            self._noting.join(LAST_WORDS)
        return self._process.poll()

    @property
    def error_lines(self) -> list[str]:
        """The errors of ssh or the remote shell, by lines. A login's own output counts only where there is nothing
        else: it may be why there is no agent, and is a greeting before one that answers."""
        return list(self._complaints or (() if self.answered else self._chatter))

    def hang_up(self) -> None:
        """Close the line. The host agent then ends the remaining ranks there, and itself."""
        assert self._process.stdin is not None, "it is a pipe"
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def close(self, deadline: float) -> None:
        """Hang up, and wait until the line has ended. End it by force after `deadline` (monotonic clock), and at once
        where no agent has answered that would have to clean up."""
        self.hang_up()
        try:
            self._process.wait(max(deadline - time.monotonic(), 0) if self.answered else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hear(self, stream: IO[bytes]) -> None:
        for line in stream:
            answered = time.time()
            try:
                answer = json.loads(line)
                clock, about = float(answer["clock"]), answer["about"]
            except (ValueError, TypeError, KeyError):
                if words := line.decode(errors="replace").strip():
                    self._chatter.append(words)  # a login script that talks
                continue
            with self._lock:
                sent = self._asked.popleft()
            self.heard, self.answered = time.monotonic(), True
            self.kills = answer.get("kills", 0)
            if about != "look":  # which takes its time
                self._samples.append(clocks.Sample(sent, clock, answered))
            if about != ALIVE:  # which nobody waits for
                self._answers.put(answer)
        self._over.set()
        self._answers.put(None)

    def _note(self, stream: IO[bytes]) -> None:
        for line in stream:
            if words := line.decode(errors="replace").strip():
                self._complaints.append(words)


def close_all(agents: Sequence[AgentClient]) -> None:
    """Hang up on all agents at the same time, and wait until their lines have ended, however many are silent."""
    for agent in agents:
        agent.hang_up()
    deadline = time.monotonic() + CLOSED
    for agent in agents:
        agent.close(deadline)
