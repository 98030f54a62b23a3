"""What a live page shows of one run, as sections for `workshop.web.push`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from workshop.analysis.balance import balance
from workshop.analysis.verdict import verdict
from workshop.figures.curves import curve
from workshop.figures.palette import palette_strip
from workshop.figures.times import rank_times
from workshop.placement import Placement
from workshop.store.queue import expected_wait
from workshop.store.records import Artifact, RunRecord
from workshop.store.store import Store
from workshop.web.machine_view import machine_section
from workshop.web.words import STATUS, dumps, metrics, size, waiting, who
from workshop.workloads import workloads

LIVE, ENDED = 0.25, 2.0  # seconds between looks
CURVES = 4  # as many names of events get a curve
SETTLED = 3  # steps before a running run's verdict says anything
BEFORE = ("original.png", "input/photo")
AFTER = ("quantised.png", "preview.png")


class RunLook:
    """Looks at a run; a section is made anew only when what it shows has changed."""

    def __init__(self, store: Store, run_id: int) -> None:
        self.store = store
        self.id = run_id
        self.every = LIVE
        self._seen: dict[str, Any] = {}

    def __call__(self) -> Mapping[str, str]:
        run = self.store.run(self.id)
        self.every = ENDED if run.ended else LIVE
        sections = {"run": dumps(self._facts(run)), "error": dumps(run.error), "metrics": dumps(metrics(run.metrics))}
        if self._new("machine", (run.rank_map, run.machine)):
            sections["machine"] = machine_section(run.machine, run.rank_map, run.placement)
        artifacts = self.store.artifacts(run.id)
        if self._new("artifacts", (artifacts, run.metrics)):
            sections["pictures"] = dumps(pictures(run, artifacts))
            sections["files"] = dumps([_file(run, artifact) for artifact in artifacts])
            palette = run.metrics.get("palette")
            sections["palette"] = palette_strip(palette, run.metrics.get("sizes")).to_json() if palette else "null"
        if self._new("events", (self.store.last_event_id(run.id), run.status)):
            sections |= self._told(run)
        return sections

    def _new(self, what: str, value: Any) -> bool:
        if what in self._seen and self._seen[what] == value:
            return False
        self._seen[what] = value
        return True

    def _facts(self, run: RunRecord) -> dict[str, Any]:
        known = workloads().get(run.workload)
        facts = {
            "id": run.id,
            "title": known.title if known else run.workload,
            "status": run.status,
            "words": "cancelling" if run.cancel_requested and not run.ended else STATUS[run.status],
            "ended": run.ended,
            "session": run.session,
            "who": who(run),
            "placement": Placement.parse(run.placement).describe(),
            "progress": run.progress,
            "queued_at": run.queued_at,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "notices": run.notices,
            "owner": run.identity_id,
            "turn": None,
        }
        if run.status == "queued":
            facts["turn"] = self._turn(run)
        return facts

    def _turn(self, run: RunRecord) -> str:
        queue = self.store.queue(run.session_id)
        position = next((number for number, other in enumerate(queue, 1) if other.id == run.id), 1)
        running = next(iter(self.store.runs(session_id=run.session_id, status="running", limit=1)), None)
        waits = expected_wait(queue, running, self.store.runs(session_id=run.session_id, limit=50))
        return f"Number {position} in the queue, expected to start: {waiting(waits.get(run.id))}."

    def _told(self, run: RunRecord) -> dict[str, str]:
        """Curves, times and verdict, from the events so far."""
        totals = self.store.totals(run.id)
        names = [name for name in totals if not name.startswith("time.")]
        series = {name: self.store.series(run.id, name) for name in sorted(names)[:CURVES]}
        heights = [300, *[200] * CURVES]  # the first is what the run is about
        drawn = [(name, curve(of, height)) for (name, of), height in zip(series.items(), heights, strict=False)]
        curves = [f'{{"name":{dumps(name)},"figure":{figure.to_json()}}}' for name, figure in drawn]
        newest = max((one.times[-1] for of in series.values() for one in of if one.times), default=None)
        ranks = len((run.rank_map or {}).get("ranks") or []) or run.placement.get("ranks") or 1
        times = balance(totals, ranks)
        said: dict[str, Any] | None = run.verdict
        if run.status == "running" and times is not None and times.steps >= SETTLED:
            said = verdict(run, totals) | {"so_far": True}
        return {
            "curves": f"[{','.join(curves)}]",
            "times": rank_times(times).to_json() if times is not None else "null",
            "verdict": dumps(said),
            "told": dumps({"events": self._seen["events"][0], "newest": newest}),
        }


def pictures(run: RunRecord, artifacts: list[Artifact]) -> list[dict[str, str]]:
    """Photos before and after, as far as they are there."""
    there = {artifact.name: artifact for artifact in artifacts}
    shown = []
    for names, label, count in ((BEFORE, "Before", "bytes_before"), (AFTER, "After", "bytes_after")):
        found = next((there[name] for name in names if name in there), None)
        if found is not None:
            bytes_ = run.metrics.get(count)
            preview = found.name == "preview.png"
            shown.append(
                {
                    "label": "So far" if preview and not run.ended else label,
                    "url": artifact_url(run, found),
                    "note": size(bytes_) + " as PNG" if bytes_ and not preview else "",
                }
            )
    return shown


def artifact_url(run: RunRecord, artifact: Artifact) -> str:
    """Where an artifact can be had; the address changes with its content, so that browsers may keep it for ever."""
    return f"/artifact/{run.id}/{quote(artifact.name)}?v={artifact.sha256[:16]}"


def _file(run: RunRecord, artifact: Artifact) -> dict[str, str]:
    return {"name": artifact.name, "size": size(artifact.size), "url": artifact_url(run, artifact)}
