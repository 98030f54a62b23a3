"""What a rank says of an error that ended its run."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator

from workshop.core.errors import OUT_OF_MEMORY
from workshop.core.memory import help_for

_TENSOR = re.compile(r"OOM when allocating tensor with shape\s*(\[[^\]]*\]) and type (\w+)")
LONG = 300  # characters of a library's words


def described(error: BaseException, rank: int, ranks: int) -> dict[str, str]:
    """Type, message and traceback of what ended a rank, one of so many. One that lacked memory says so in one sentence,
    whichever library noticed it."""
    short = next((cause for cause in _causes(error) if _lacks_memory(cause)), None)
    if short is None:
        kind, message = type(error).__name__, str(error)
    else:
        kind = OUT_OF_MEMORY
        message = f"rank {rank} could not get the memory that it asked for ({_asked(short)}); {help_for(ranks)}"
    trace = "".join(traceback.format_exception(error))
    return {"type": kind, "message": message, "traceback": trace}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those from which it was raised."""
    seen = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__


def _lacks_memory(error: BaseException) -> bool:
    """Python and NumPy raise MemoryError; TensorFlow, which must not be imported for this, an error of its own."""
    return isinstance(error, MemoryError) or any(
        kind.__name__ == "ResourceExhaustedError" and kind.__module__.startswith("tensorflow")
        for kind in type(error).__mro__
    )


def _asked(error: BaseException) -> str:
    """What an error asked for, in the library's own words where they are short."""
    words = " ".join(str(error).split())
    if tensor := _TENSOR.search(words):
        return f"a tensor of shape {tensor[1]} and type {tensor[2]}"
    return words[:LONG].rstrip(".") or type(error).__name__
