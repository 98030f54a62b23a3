"""A run's results for a notebook: its verdict, its metrics, its files, and its error."""

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
    """The verdict on a run or a study in plain words: `verdict`, `why`, `next`."""

    def __init__(self, verdict: Mapping[str, str]) -> None:
        super().__init__({name: in_python(text) for name, text in verdict.items()})

    @property
    def why(self) -> str:
        return self.get("why", "")

    @property
    def next(self) -> str:
        return self.get("next", "")

    def __str__(self) -> str:
        return "\n".join(f"{name.capitalize()}: {text}" for name, text in self.items() if text)

    __repr__ = __str__

    def lines(self) -> list[str]:
        """The verdict as HTML, line by line."""
        rest = (html.line(self[name], name.capitalize()) for name in ("why", "next") if self.get(name))
        return [html.line(self.get("verdict", ""), tone="heading"), *rest]

    def _repr_html_(self) -> str:
        return html.alone(html.box("".join(self.lines())))


class RunMetrics(dict[str, Any]):
    """The metrics of a run, by name. An unknown name raises an error of one sentence."""

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
        self._snapshot = snapshot

    def __getitem__(self, name: str) -> bytes:
        return self._snapshot.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot.artifacts)

    def __len__(self) -> int:
        return len(self._snapshot.artifacts)

    def __repr__(self) -> str:
        files = [f"{artifact.name} ({say.size(artifact.size)})" for artifact in self._snapshot.artifacts.values()]
        return ", ".join(files) or "no files"


def error_of(run: RunRecord) -> str:
    """A run's error in one sentence; empty where it has none."""
    if not run.error:
        return ""
    where = "" if run.error.get("rank") is None else f"rank {run.error['rank']} on {run.error['host']}: "
    sentence = f"{where}{run.error['type']}: {run.error['message']}".strip().split("\n", 1)[0]
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
