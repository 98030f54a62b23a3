"""What a rank says of errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from workshop.engine.failure import described


def raised(function: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:
        function()
    return caught.value


def test_who_lacks_memory_says_so_whatever_the_library_calls_it() -> None:
    said = described(raised(lambda: np.zeros((1 << 24, 1 << 24))), 3, 4)
    assert said["type"] == "OutOfMemory"
    assert said["message"].startswith("rank 3 could not get the memory that it asked for (Unable to allocate 2.00 PiB")
    assert said["message"].endswith("; take fewer ranks, a smaller batch or a smaller size")
    assert "MemoryError" in said["traceback"]
    assert (
        "asked for (MemoryError); take a smaller batch" in described(raised(lambda: [0] * (1 << 60)), 0, 1)["message"]
    )


def test_the_cause_counts() -> None:
    def wrapped() -> None:
        try:
            bytearray(1 << 60)
        except MemoryError as error:
            raise RuntimeError("the batch could not be made") from error

    assert described(raised(wrapped), 0, 2)["type"] == "OutOfMemory"


def test_others_keep_their_names() -> None:
    said = described(raised(lambda: {}["x"]), 0, 2)
    assert (said["type"], said["message"]) == ("KeyError", "'x'")
    assert "Traceback" in said["traceback"]
