"""A rank's description of an error that ended its run."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator

from workshop.core.disk import NO_ROOM, is_full
from workshop.core.errors import OUT_OF_MEMORY
from workshop.core.memory import help_for

_TENSOR = re.compile(r"OOM when allocating tensor with shape\s*(\[[^\]]*\]) and type (\w+)")
LONG = 300  # characters of a library's words


def described(error: BaseException, rank: int, ranks: int) -> dict[str, str]:
    """Type, message and traceback of the error that ended one of so many ranks. An error for want of memory or disk
    becomes one sentence, whichever library has raised it."""
    kind, message = type(error).__name__, str(error)
    for cause in _causes(error):
        if _lacks_memory(cause):
            kind = OUT_OF_MEMORY
            message = f"rank {rank} could not get the memory that it asked for ({_request(cause)}); {help_for(ranks)}"
            break
        if is_full(cause):
            file = getattr(cause, "filename", None) or "a file"
            kind = NO_ROOM
            message = f"rank {rank} could not write {file}: there is no room left on the disk; free some space there"
            break
    trace = "".join(traceback.format_exception(error))
    return {"type": kind, "message": message, "traceback": trace}


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those from which it was raised."""
    while error is not None:
        yield error
        error = error.__cause__


def _lacks_memory(error: BaseException) -> bool:
    """Python and NumPy raise MemoryError; TensorFlow, which must not be imported for this, an error of its own."""
    return isinstance(error, MemoryError) or any(
        kind.__name__ == "ResourceExhaustedError" and kind.__module__.startswith("tensorflow")
        for kind in type(error).__mro__
    )


def _request(error: BaseException) -> str:
    """The allocation that failed, in the library's own words where they are short."""
    words = " ".join(str(error).split())
    if tensor := _TENSOR.search(words):
        return f"a tensor of shape {tensor[1]} and type {tensor[2]}"
    return words[:LONG].rstrip(".") or type(error).__name__
