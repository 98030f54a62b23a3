"""How a refusal of a data file reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import pytest

from workshop.core.errors import BadInput


def refused(call: Callable[[], object]) -> str:
    """The one sentence with which `call` refuses."""
    with pytest.raises(BadInput) as error:
        call()
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".") and not re.search(r"\. [A-Z]", sentence)
    return sentence


def names(sentence: str, name: object, data: bytes) -> bool:
    """Whether a sentence names the file and its checksum."""
    return f"{name} (sha256 {hashlib.sha256(data).hexdigest()[:16]})" in sentence


def only_bad_input(call: Callable[[], object]) -> None:
    """Whatever a file holds, it is read or refused."""
    try:
        call()
    except BadInput as error:
        assert "\n" not in str(error)
