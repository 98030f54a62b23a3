"""Libraries that are an extra of the package, and the sentence where they aren't installed."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

import pytest

from workshop.core import config, extras
from workshop.core.errors import BadInput
from workshop.extension import Params, Workload


def test_the_libraries_are_those_that_the_extra_brings() -> None:
    project = tomllib.loads(config.project_file().read_text())["project"]
    assert project["name"] == extras.PACKAGE and set(extras.LIBRARIES) <= set(project["optional-dependencies"])
    packages = metadata.packages_distributions()
    for extra, libraries in extras.LIBRARIES.items():
        brought = {re.split("[=; ]", pin)[0] for pin in project["optional-dependencies"][extra]}
        assert {packages[module][0].replace("_", "-") for module in libraries} <= brought
        assert {title.lower() for title in libraries.values()} <= {name.removesuffix("-cpu") for name in brought}
        assert extras.lacks("Everything", extra) == "", "tests have all extras"


def test_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = {"no_such_network": "TensorFlow", "numpy": "NumPy", "no_such_tree": "Trees"}
    monkeypatch.setitem(extras.LIBRARIES, "forest", libraries)  # type: ignore[arg-type]  # a dict, to readers a Mapping
    assert extras.lacks("It", "forest", "numpy") == ""
    assert extras.lacks("It", "forest", "no_such_tree").startswith(
        "It needs Trees, which is not installed; install the"
    )
    workload = Workload(name="oak", title="Oak", summary="", params=Params, function="", extra="forest")
    monkeypatch.setattr(extras, "WITHOUT_TENSORFLOW", (4, 0))
    assert "The workload oak needs TensorFlow and Trees, which are not installed; install the extra forest: pip" in (
        workload.lacks()
    )
    monkeypatch.setattr(extras, "WITHOUT_TENSORFLOW", (3, 11))
    with pytest.raises(BadInput, match=r"needs TensorFlow, which has no version for Python 3\.\d+; use Python 3.11 to"):
        extras.require("It", "forest")
