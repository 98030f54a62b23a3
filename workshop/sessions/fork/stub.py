"""The program that a launcher starts as a rank where a server forks ranks: it has the server fork the rank, and waits.

Run as `python -I -S stub.py ARGUMENTS…`, without site and with few imports, so that it starts in some milliseconds. The
server (`sessions.fork.server`) gets everything from the launcher: descriptors, variables, folder and cores. This
process ends as the rank does, with the same exit code or signal. A signal that asks it to end goes on to the rank; when
it is killed, the server kills the rank. Where no server answers, this process becomes the rank."""

import _socket
import os
import signal
import sys

SERVER = "WORKSHOP_RANK_SERVER"  # the path of the socket at which a session's server listens
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
FORK_SECONDS = (
    30.0  # seconds of an idle machine within which a server must have begun a rank; it imports for one at first
)


def descriptors() -> list[int]:
    """The numbers of all that the launcher has opened for us."""
    opened = []
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            os.fstat(number)  # not the folder's own, which is closed again
        except OSError:
            continue
        opened.append(number)
    return sorted(opened)


def request(numbers: list[int]) -> bytes:
    """All that a rank is given, as the server reads it: fields that NUL ends, the variables last."""
    mask = os.umask(0)
    os.umask(mask)
    lists = [",".join(map(str, some)) for some in (numbers, sorted(os.sched_getaffinity(0)))]
    head = [os.getcwd(), *lists, str(mask), str(len(sys.argv) - 1), *sys.argv[1:]]
    variables = [name + b"=" + value for name, value in os.environb.items() if name != SERVER.encode()]
    fields = [*(os.fsencode(word) for word in head), *variables]
    return b"\0".join(fields)


def connected(folder: str, name: str) -> _socket.socket:
    """A connection to the server, by a short path: a socket's path may have only 107 bytes."""
    at = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        line.settimeout(FORK_SECONDS)
        line.connect(f"/proc/self/fd/{at}/{name}")
    finally:
        os.close(at)
    return line


def begun(path: str) -> _socket.socket:
    """Have the server fork our rank; returns the line on which it tells how that ends. Raises OSError."""
    folder, name = os.path.split(path)
    numbers = descriptors()
    line = connected(folder, name)
    body = request(numbers)
    packed = b"".join(number.to_bytes(4, sys.byteorder) for number in numbers)
    line.sendmsg([len(body).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
    line.sendall(body)
    if line.recv(1) != b"+":
        raise ConnectionError
    line.settimeout(None)
    return line


def pass_on(line: _socket.socket, number: int) -> None:
    """Send a signal's number to the server, which may have told the rank's end and hung up."""
    try:
        line.send(bytes([number]))
    except OSError:  # which `follow` is about to read
        return


def follow(line: _socket.socket) -> None:
    """End as the rank does. Where the server is gone, the kernel has killed the rank."""
    for passed in PASSED_ON:
        signal.signal(passed, lambda number, _: pass_on(line, number))
    reply = line.recv(2)
    kind, number = (reply[:1], reply[1]) if len(reply) == 2 else (b"s", signal.SIGKILL)
    if kind == b"c":
        os._exit(number)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the memory of this process tells nobody anything
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def main() -> None:
    """Have a rank forked and end with it, or become the rank."""
    try:
        line = begun(os.environ[SERVER])
    except (KeyError, OSError):
        os.environ.pop(SERVER, None)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "workshop.engine.host", *sys.argv[1:]])
    follow(line)


if __name__ == "__main__":
    main()
