"""Runs OpenFL's commands. This file runs in OpenFL's environment, where there is no other file of the workshop.

Every `fx` command imports TensorFlow and Keras, which takes much longer than the command itself. This process imports
them once and forks a child for each command, which then acts as the program `fx`. The child imports OpenFL itself, in
the folder of the command, because OpenFL looks there for certificates when it is imported. Nothing here starts
TensorFlow's or gRPC's threads, which a fork would lose.

Requests are lines of JSON on standard input: {"id", "argv", "cwd", "log", "env"} starts a command, {"id", "signal"}
sends it a signal. Answers are lines on standard output: {"ready"}, {"id", "pid"} and {"id", "code"}. The code of a
command that a signal has ended is the negative number of the signal. The process ends with its input, and kills its
children.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import runpy
import select
import shutil
import signal
import sys
import time
import traceback

# Slow imports of OpenFL and of the commands that are used here.
SLOW = (
    "click",
    "cryptography.x509",
    "google.protobuf",
    "grpc",
    "keras",
    "pandas",
    "pip._internal.operations.freeze",
    "requests",
    "rich.logging",
    "sklearn",
    "tensorboardX",
    "tensorflow",
    "tqdm",
)
EVERY = 0.02  # seconds between two looks at the children
PR_SET_PDEATHSIG = 1  # prctl(2)
LARGEST = 512 << 20  # bytes of any file that a command writes


def warm() -> None:
    """Do the slow imports, once for all commands."""
    for name in SLOW:
        importlib.import_module(name)


def run(argv: list[str]) -> None:
    """Act as the program `fx`, or run the Python file that is the first word."""
    sys.argv = argv
    if argv[0] != "fx":
        runpy.run_path(argv[0], run_name="__main__")
        return
    import numpy as np

    np.random.seed()  # else all children would draw the same
    from openfl.interface.cli import entry

    entry()


def child(request: dict, parent: int) -> None:
    """Become the command, and end with the process `parent`. Never returns."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, file in ((0, null), (1, log), (2, log)):
            os.dup2(file, number)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
        os.umask(0o077)
        os.environ.update(request.get("env", {}))
        os.chdir(request["cwd"])
        run(request["argv"])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code & 0xFF)  # without what libraries do at exit: their threads may never end


def tell(message: dict) -> None:
    os.write(sys.stdout.fileno(), json.dumps(message).encode() + b"\n")


def reap(running: dict[int, int]) -> None:
    """Report children that have ended. `running` has the processes by the commands' numbers."""
    for identity, pid in list(running.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del running[identity]
            tell({"id": identity, "code": os.waitstatus_to_exitcode(status)})


def serve(running: dict[int, int], ending: list[int]) -> None:
    """Start the requested commands and report their ends, until the input ends or a signal is in `ending`."""
    unread = b""
    while not ending:
        readable, _, _ = select.select([0], [], [], EVERY)
        if readable:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                request = json.loads(line)
                if "signal" in request:
                    reap(running)
                    if request["id"] in running:
                        os.kill(running[request["id"]], request["signal"])
                    continue
                parent = os.getpid()
                pid = os.fork()
                if pid == 0:
                    child(request, parent)
                running[request["id"]] = pid
                tell({"id": request["id"], "pid": pid})
        reap(running)


def main() -> None:
    """Serve. The working folder belongs to the run and has keys in it: it is removed here where the rank was killed and
    can't remove it."""
    sys.path.pop(0)  # this folder, whose files must not be imported
    rank, folder, began = os.getppid(), os.getcwd(), time.monotonic()
    warm()
    running: dict[int, int] = {}
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ending.append(number))  # which the kernel sends when the rank dies
    try:
        tell({"ready": round(time.monotonic() - began, 3)})
        serve(running, ending)
    except BrokenPipeError:
        pass  # the rank has ended
    finally:
        for pid in running.values():
            os.kill(pid, signal.SIGKILL)
        for pid in running.values():
            os.waitpid(pid, 0)
        if os.getppid() != rank:
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # TensorFlow takes its time to end


if __name__ == "__main__":
    main()
