"""The extras of the package in pyproject.toml: their libraries, and the sentence that says what to install."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec

from workshop.core.errors import BadInput
from workshop.core.words import listed

PACKAGE = "distributed-training-workshop"
TRAINING = "training"
# The libraries of each extra: the name that Python imports, and the name in words.
LIBRARIES: Mapping[str, Mapping[str, str]] = {
    TRAINING: {"tensorflow": "TensorFlow", "sklearn": "scikit-learn", "dp_accounting": "dp-accounting"}
}
WITHOUT_TENSORFLOW = (3, 14)  # the first Python that has no TensorFlow


def lacks(subject: str, extra: str, *modules: str) -> str:
    """Say that `subject` needs libraries of an extra that aren't installed, and how to install them; "" where they are.
    `modules` are those that count; without any, all of the extra count."""
    libraries = LIBRARIES[extra]
    missing = [libraries[module] for module in modules or libraries if find_spec(module) is None]
    if not missing:
        return ""
    if "TensorFlow" in missing and sys.version_info >= WITHOUT_TENSORFLOW:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return f"{subject} needs TensorFlow, which has no version for Python {version}; use Python 3.11 to 3.13."
    return (
        f"{subject} needs {listed(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed; install the "
        f"extra {extra}: pip install '{PACKAGE}[{extra}]' (in a clone: make up)."
    )


def require(subject: str, extra: str, *modules: str) -> None:
    """Raise BadInput with that sentence where a library isn't installed."""
    if sentence := lacks(subject, extra, *modules):
        raise BadInput(sentence)
