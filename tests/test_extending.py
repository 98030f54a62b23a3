"""What docs/extending.md tells is so: its examples run, and its table names all that an extension can bring."""

from __future__ import annotations

import re
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import yaml

from workshop.core import config
from workshop.extension import Extension
from workshop.report.rules import Rules, holding

TEXT = (config.labs_folder().parent / "docs" / "extending.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def names() -> list[dict[str, Any]]:
    """What each example defines."""
    found = []
    for block in BLOCKS:
        space: dict[str, Any] = {"__name__": "example"}
        exec(compile(block, "docs/extending.md", "exec"), space)
        found.append(space)
    return found


def test_the_examples_bring_all_that_an_extension_can() -> None:
    brought = [space["EXTENSION"] for space in names() if "EXTENSION" in space]
    for field in fields(Extension):
        assert any(getattr(extension, field.name) for extension in brought), field.name
        assert f"\n| `{field.name}` |" in TEXT


def test_the_examples_do_what_they_say() -> None:
    space = {name: value for one in names() for name, value in one.items()}
    (document,) = re.findall(r"^```yaml\n(facts:.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    outcome = Rules.model_validate(yaml.safe_load(document)).outcome
    told = {"metrics": {"warmest": 85.0}, "params": {"steps": 50}}
    said = [finding for _, finding in holding(outcome, told | space["facts"](SimpleNamespace(**told), {}))]
    assert said[0].verdict == "It got 85 degrees warm." and "15 degrees" in said[0].why
    assert [finding.verdict for _, finding in holding(outcome, {"metrics": {}})] == ["The rod stayed cold."]
    (panel,) = space["PANELS"]
    (card,) = panel.show(SimpleNamespace(series=lambda name: [SimpleNamespace(means=[1.0, 2.0])]))
    assert card.parts[0]["tiles"] == [{"label": "degrees", "value": "2"}]
    assert panel.show(SimpleNamespace(series=lambda name: [])) == []
    assert list(space["WORKLOAD"].params.model_fields) == ["points", "steps"]
    (failure,) = space["failures"](2, (), ("openmpi",))
    assert space["WORKLOAD"].check(failure.params) and failure.broken.ranks == 4
