"""A notebook's cell on a rank: its code runs in the engine's IPython, and its output is sent at once.

`workshop.notebook.ranks` calls `run` and `call` on all ranks together. A cell's output travels as messages
of one kind, which ipyparallel's client keeps in order: text, figures, and the line that the rank is in.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import importlib
import linecache
import os
import signal
import struct
import sys
import termios
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from workshop.engine import failure

TEXT = "application/x.workshop-text"  # what a cell prints
WHERE = "application/x.workshop-where"  # in which line it is: {"line", "code", "function"}
CLEAR = "application/x.workshop-clear"  # clear_output
LARGEST_TEXT = 2 << 20  # characters that a cell may print on a rank
LARGEST_SHOWN = 16 << 20  # characters of the figures that it may show
FLUSH = 0.1  # seconds between messages, and between looks at where a rank is
LONG = 300  # characters of what an error says
CODE = 80  # characters of a line of code
TOO_MUCH = "TooMuchOutput"  # type of the error of a cell that goes on printing
_names: dict[str, Any] = {}  # that every cell finds: rank, size, comm


class TooMuchOutput(BaseException):
    """A cell prints without an end. This is no Exception, so `except Exception` in the cell doesn't catch it."""


def enter(folder: str) -> None:
    """Work in the notebook's folder, where this host has it, and import the modules beside the notebook."""
    with contextlib.suppress(OSError):  # another host, or a folder that is gone
        os.chdir(folder)
        if folder not in sys.path:
            sys.path.insert(0, folder)


def run(code: str, folder: str, anew: bool = False) -> dict[str, Any] | None:
    """Run a cell on this rank, in a folder. Collective the first time, and where `comm` is made again, so that messages
    of a broken cell reach no later cell. Returns None after a normal end, otherwise type, message, traceback, and the
    line in the cell (`where`)."""
    enter(folder)
    shell = _shell()
    shell.user_ns.update(_bound(anew))
    with CellOutput(shell) as output, _quiet(shell):
        done, error = output.during(_outside_the_loop, shell.run_cell, code, store_history=True)
        if error is None:  # else interrupted before or after the code itself
            error = done.error_before_exec or done.error_in_exec
        return None if error is None else _described(error, shell, output)


def _outside_the_loop(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function as if no event loop ran in this thread, so that a cell can use `await` and asyncio.run."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return function(*arguments, **named)
    finally:
        asyncio._set_running_loop(loop)


def call(module: str, function: str, arguments: Sequence[Any], anew: bool = False) -> dict[str, Any]:
    """Call a function with the names that cells have left, and arguments; its output is dropped. Returns its `value`,
    or its `error` as `run` describes it."""
    shell = _shell()
    shell.user_ns.update(_bound(anew))
    with CellOutput(shell, silent=True) as output:
        value, error = output.during(_called, module, function, shell.user_ns, *arguments)
        return {"value": value, "error": None if error is None else _described(error, shell, output)}


def bind(folder: str, anew: bool = False) -> None:
    """Bind the names that every cell finds, for code that isn't a cell, and enter the folder. Collective as `run`."""
    enter(folder)
    _shell().user_ns.update(_bound(anew))


def _called(module: str, function: str, *arguments: Any) -> Any:
    return getattr(importlib.import_module(module), function)(*arguments)


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def _bound(anew: bool) -> dict[str, Any]:
    """The names that every cell finds, with their right values: a loop over `rank` in an earlier cell has not changed
    them."""
    if anew or not _names:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD.Dup()
        _names.update(rank=comm.Get_rank(), size=comm.Get_size(), comm=comm)
        warnings.filterwarnings("ignore", message="To exit: use 'exit'")
    return _names


@contextlib.contextmanager
def _quiet(shell: Any) -> Iterator[None]:
    """Have errors returned instead of shown, and keep `exit()` from ending the engine."""

    def nothing(*_: Any, **__: Any) -> None:
        pass

    def stay() -> None:
        raise SystemExit("exit() doesn't end a rank")

    instead = {"showtraceback": nothing, "showsyntaxerror": nothing, "showindentationerror": nothing, "ask_exit": stay}
    vars(shell).update(instead)
    try:
        yield
    finally:
        for name in instead:
            vars(shell).pop(name, None)


class CellOutput:
    """Sends the notebook all output of a cell in its order, also from C libraries and commands. A cell that doesn't
    stop printing is stopped. An interrupt ends the cell's code alone."""

    def __init__(self, shell: Any, silent: bool = False) -> None:
        self.full = ""  # what there was too much of
        self._shell = shell
        self._silent = silent
        self._main = threading.main_thread().ident or 0
        self._streams = [stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "pub_thread")]
        self._lock = threading.RLock()
        self._text: list[str] = []
        self._printed = self._shown = 0  # characters
        self._where: dict[str, Any] | None = None
        self._told: dict[str, Any] | None = None
        self._running, self._interrupted = True, False  # whether the code goes on, and was interrupted before it began
        self._over = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="cell", daemon=True)

    def __enter__(self) -> CellOutput:
        # Not set back at the end: an interrupt may come until the kernel, which does that itself, has sent the answer.
        signal.signal(signal.SIGINT, self._interrupt)
        for stream in self._streams:
            vars(stream).update(write=self._write, flush=self.flush)
        for publisher in (self._shell.display_pub, self._shell.displayhook):
            publisher.register_hook(self._hook)
        self._teller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._over.set()
        for publisher in (self._shell.display_pub, self._shell.displayhook):
            publisher.unregister_hook(self._hook)
        for stream in self._streams:
            for name in ("write", "flush"):
                vars(stream).pop(name, None)
        self._teller.join()
        self.flush()

    def during(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, BaseException | None]:
        """Call a function that can be interrupted. Returns its value, or the error that ended it."""
        try:
            value, error = self._code(function, *arguments, **named), None
        except BaseException as ended:
            value, error = None, ended
        self._running = False  # stop nobody any longer
        drain(self._streams)
        return value, error

    def _code(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if self._interrupted:
            raise KeyboardInterrupt
        return function(*arguments, **named)

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        """Handle an interrupt. The stack says whether the cell's code runs, because it changes in the very moment in
        which the code begins or ends."""
        while frame is not None and frame.f_code is not CellOutput._code.__code__:
            frame = frame.f_back
        if frame is not None:
            raise KeyboardInterrupt
        self._interrupted = True

    def flush(self) -> None:
        with self._lock:
            text, self._text = "".join(self._text), []
            if text:
                self._send({TEXT: text.encode(errors="replace").decode()})  # half a surrogate pair can't be sent

    def _write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._silent:
            return len(text)
        with self._lock:
            room = LARGEST_TEXT - self._printed
            self._printed += len(text)
            self._text.append(text[: max(room, 0)])
        if len(text) > room:
            self._stop(f"printed more than {LARGEST_TEXT >> 20} MB")
        return len(text)

    def _hook(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Turn everything that IPython shows into the kind of message that ipyparallel's client keeps."""
        if self._silent:
            return None
        drain(self._streams)
        self.flush()
        kind, content = message["msg_type"], message["content"]
        if kind == "clear_output":
            self._send({CLEAR: bool(content.get("wait"))})
            return None
        data = content.get("data", {})
        self._shown += sum(len(value) if isinstance(value, str) else len(str(value)) for value in data.values())
        if self._shown > LARGEST_SHOWN:
            self._stop(f"showed more than {LARGEST_SHOWN >> 20} MB")
            return None
        more = dict(content.get("transient") or {}) | {"update": kind == "update_display_data"}
        self._send(data, content.get("metadata") or {}, more)
        return None

    def _stop(self, why: str) -> None:
        """End the running cell: by an exception in the cell's own thread, by a signal elsewhere."""
        first, self.full = not self.full, why
        if not self._running:
            return
        if threading.get_ident() == self._main:
            raise TooMuchOutput(why)
        if first:
            signal.pthread_kill(self._main, signal.SIGINT)

    def _send(self, data: dict[str, Any], metadata: dict[str, Any] | None = None, more: Any = None) -> None:
        publisher = self._shell.display_pub
        content = {"data": data, "metadata": metadata or {}, "transient": more or {}}
        message = publisher.session.msg("display_data", content, parent=publisher.parent_header)
        publisher.session.send(publisher.pub_socket, message, ident=publisher.topic)

    def _tell(self) -> None:
        """Tell where the rank waits, in a thread of its own: mpi4py waits without Python's lock."""
        while not self._over.wait(FLUSH):
            self.flush()
            before, self._where = self._where, _where(sys._current_frames().get(self._main), self._shell.user_global_ns)
            if self._where and self._where == before and self._where != self._told:  # it stays there
                self._told = self._where
                with self._lock:
                    self._send({WHERE: self._where})


def _where(frame: FrameType | None, names: dict[str, Any]) -> dict[str, Any] | None:
    """The innermost line of a cell that a thread executes."""
    while frame is not None:
        if frame.f_globals is names:
            return _line(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return None


def _line(code_object: CodeType, number: int) -> dict[str, Any] | None:
    """A line of a cell; None for code that is in no cell, such as %time."""
    file, function = code_object.co_filename, code_object.co_name
    code = linecache.getline(file, number).strip()
    if not code:
        return None
    short = code if len(code) <= CODE else f"{code[: CODE - 1]}…"
    return {"line": number, "code": short, "function": "" if function.startswith("<") else function, "cell": file}


def _described(error: BaseException, shell: Any, output: CellOutput) -> dict[str, Any]:
    """The error that ended a cell: type, message (one line), traceback (from the cell on), and `where` in the cell."""
    first = _from_cell(error.__traceback__, shell.user_global_ns)
    description: dict[str, Any] = failure.described(error.with_traceback(first), _names["rank"], _names["size"])
    frames = [(f.f_code, n) for f, n in traceback.walk_tb(first) if f.f_globals is shell.user_global_ns]
    where = _line(*frames[-1]) if frames else None
    if where is not None:
        where["earlier"] = frames[-1][0].co_filename != frames[0][0].co_filename  # in a function of an earlier cell
    if isinstance(error, SyntaxError) and not frames:
        description["message"] = error.msg
        code = (error.text or "").strip()
        where = {"line": error.lineno or 0, "code": code[:CODE], "function": "", "cell": "", "earlier": False}
    if output.full and isinstance(error, TooMuchOutput | KeyboardInterrupt):
        description |= {"type": TOO_MUCH, "message": output.full}
    message = " ".join(description["message"].split())
    return description | {"message": message if len(message) <= LONG else f"{message[: LONG - 1]}…", "where": where}


def _from_cell(at: TracebackType | None, names: dict[str, Any]) -> TracebackType | None:
    """The traceback without IPython's own frames, or the whole one where the cell isn't in it."""
    here = at
    while here is not None and here.tb_frame.f_globals is not names:
        here = here.tb_next
    return here or at


MOST_DELAY = 0.5  # seconds that somebody waits for it: a command in the background may go on writing
LOOK = 0.001  # seconds
_libc = ctypes.CDLL(None)


def drain(streams: Sequence[Any]) -> None:
    """Wait until earlier output has arrived at ipykernel's `streams`: first the buffers of C libraries, then the pipes,
    then the thread that reads them."""
    _libc.fflush(None)
    watched = [stream for stream in streams if getattr(stream, "watch_fd_thread", None) is not None]
    deadline = time.monotonic() + MOST_DELAY
    while not all(_empty(stream._fid) and _idle(stream) for stream in watched) and time.monotonic() < deadline:
        time.sleep(LOOK)


def _empty(descriptor: int) -> bool:
    try:
        waiting: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0]
    except OSError:
        return True
    return waiting == 0


def _idle(stream: Any) -> bool:
    """Whether the thread of a stream is in a system call that reads its pipe (proc_pid_syscall(5): the call's number,
    then its arguments). Where the kernel doesn't tell, it has a moment."""
    try:
        called = Path(f"/proc/self/task/{stream.watch_fd_thread.native_id}/syscall").read_text().split()
    except OSError:
        time.sleep(10 * LOOK)
        return True
    return called[1:2] == [hex(stream._fid)]
