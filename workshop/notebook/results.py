"""What a run has told, as a notebook reads it: its verdict, its metrics, its files, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from workshop.core import words as say
from workshop.core.errors import BadInput
from workshop.notebook.request import in_python
from workshop.report import html
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord


class ShownVerdict(dict[str, str]):
    """What a run or a study says in plain words: `verdict`, `why`, `next`."""

    def __init__(self, said: Mapping[str, str]) -> None:
        super().__init__({name: in_python(text) for name, text in said.items()})

    @property
    def why(self) -> str:
        return self.get("why", "")

    @property
    def next(self) -> str:
        return self.get("next", "")

    def __str__(self) -> str:
        return "\n".join(f"{name.capitalize()}: {said}" for name, said in self.items() if said)

    __repr__ = __str__

    def lines(self) -> list[str]:
        """The verdict as HTML, line by line."""
        rest = (html.line(self[name], name.capitalize()) for name in ("why", "next") if self.get(name))
        return [html.line(self.get("verdict", ""), tone="heading"), *rest]

    def _repr_html_(self) -> str:
        return html.alone(html.box("".join(self.lines())))


class RunMetrics(dict[str, Any]):
    """What a run came to, by name. A name that it didn't tell is one sentence."""

    def __init__(self, run: RunRecord) -> None:
        super().__init__(run.metrics)
        self._run = run

    def __missing__(self, name: str) -> Any:
        if not self:
            why = f": {sentence}" if (sentence := error_of(self._run)) else ""
            raise BadInput(f"Run {self._run.id} is {self._run.status} and has no metrics{why}.".replace("..", "."))
        near = get_close_matches(str(name), list(self), 1, 0.5)
        right = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self)}."
        raise BadInput(f"Run {self._run.id} ({self._run.workload}) has no metric {name!r}; {right}")


class Files(Mapping[str, bytes]):
    """The files that a run has kept, read when one asks for them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._sight = snapshot

    def __getitem__(self, name: str) -> bytes:
        return self._sight.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sight.artifacts)

    def __len__(self) -> int:
        return len(self._sight.artifacts)

    def __repr__(self) -> str:
        kept = [f"{one.name} ({say.size(one.size)})" for one in self._sight.artifacts.values()]
        return ", ".join(kept) or "no files"


def error_of(run: RunRecord) -> str:
    """A run's error in one sentence; empty where it has none."""
    if not run.error:
        return ""
    where = "" if run.error.get("rank") is None else f"rank {run.error['rank']} on {run.error['host']}: "
    said = f"{where}{run.error['type']}: {run.error['message']}".strip().split("\n", 1)[0]
    return said if said.endswith((".", "!", "?")) else f"{said}."
