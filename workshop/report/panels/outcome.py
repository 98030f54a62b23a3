"""Panels of every run's page: the error, the verdict, the machine beside the prediction, the results, the files."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from workshop.core import machines, topology
from workshop.core.documents import finite
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.forms import param_of_runs
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.core.words import size
from workshop.mpi import mapper
from workshop.mpi.mapper import Prediction
from workshop.registry import labs
from workshop.report.actions import actions, run_like, without_options
from workshop.report.analysis.balance import balance
from workshop.report.analysis.difference import AS_MEANT, aligned, difference, sentences
from workshop.report.analysis.threads import threads_of
from workshop.report.cards import Card, Part, about, figure, fold, line, link, links, paragraph, tiles
from workshop.report.endings import failure_words
from workshop.report.figures.machine import WIDTH, machine_picture
from workshop.report.machine_picture import machine_card
from workshop.report.sentences import LONGEST_VALUE, dumps, metrics_in_two, short_traceback, who
from workshop.report.snapshot import Snapshot
from workshop.report.verdict import verdict as verdict_of
from workshop.store.records import RunRecord
from workshop.store.sessions import recorded
from workshop.store.tables import INSTRUCTOR

log = logging.getLogger(__name__)


def prediction(run: RunRecord) -> Prediction | None:
    """Where the mapper would put the ranks of a run; None for one without a rank map. The mapper, which takes a tenth
    of a second, is asked once for all runs of the same placement on the same machine."""
    hosts = {str(report["host"]) for report in (run.rank_map or {}).get("ranks") or []}
    if not run.machine or not hosts:
        return None
    return _answer(dumps(run.placement), dumps(run.machine), len(hosts))


@lru_cache(maxsize=256)
def _answer(placement: str, machine: str, hosts: int) -> Prediction:
    try:
        where = Placement.parse(json.loads(placement))
        if hosts > 1 and not where.hosts:
            raise BadInput("the placement doesn't name the hosts that it ran on.")
        return mapper.predict(where, described(json.loads(machine)))
    except WorkshopError as error:
        return Prediction(note=f"No prediction: {error}")
    except Exception:
        log.exception("could not ask for a prediction")
        return Prediction(note="No prediction: the mapper could not be asked; the dashboard's log says why.")


def described(machine: Mapping[str, Any]) -> MachineDescription:
    """A run's machine in the form that mappers need. Raises BadInput for a machine that can't be described."""
    first, *others = topology.machines(machine).values()
    units = finite(first["units"])
    if any(finite(other["units"]) != units for other in others):
        raise BadInput("its hosts are not all of the same kind.")
    here = machines.this()
    if here.machine["units"] == units:
        return here
    alone = {name: value for name, value in first.items() if name != "more"} | {"host": ""}
    return replace(_invented(units), name="the run's machine", machine=alone)


def _invented(units: list[dict[str, int]]) -> MachineDescription:
    """An invented machine with the same cores, caches and nodes in each package, where all packages are alike."""

    def count(what: str) -> int:
        return len({row[what] for row in units})

    packages, cores = count("package"), count("core")
    shape = f"{packages}x{cores // packages}x{len(units) // cores}"
    invented = machines.synthetic(shape, *(max(count(what) // packages, 1) for what in ("numa", "l3")))
    if _pattern(invented.machine["units"]) != _pattern(units):
        raise BadInput("its packages or cores are not all alike, and it isn't the machine of this dashboard.")
    return invented


def _pattern(units: list[dict[str, int]]) -> list[tuple[int, ...]]:
    """The objects that contain each unit, in the order of the cores; the units' own numbers may differ."""
    return sorted((row["package"], row["numa"], row["l3"], row["core"]) for row in units)


SETTLED = 3  # steps before a running run's verdict says anything
CHECKPOINT = "checkpoint.npz"


def error(snapshot: Snapshot) -> list[Card]:
    """The error of a rank, or another reason why the run ended, with the traceback behind a fold."""
    failure, summary = snapshot.run.error, failure_words(snapshot.run)
    if not failure or not summary:
        return []
    traceback = [fold("Traceback", short_traceback(failure["traceback"]))] if failure.get("traceback") else []
    return [Card("error", "What went wrong", (paragraph(line(summary, tone="message")), *traceback), tone="error")]


def resumption(snapshot: Snapshot) -> list[Card]:
    """The way on for a run that ended early and has kept a checkpoint."""
    run, workload = snapshot.run, snapshot.workload
    resumes = param_of_runs(workload.params) if workload else None
    if run.status not in ("failed", "cancelled", "interrupted") or CHECKPOINT not in snapshot.artifacts or not resumes:
        return []
    note = paragraph(
        line("It has kept a checkpoint: a new run can begin where that was written, with the same settings.")
    )
    button = link(f"run?run={run.id}&again={run.id}", "Go on from this run", button=True)
    return [Card("again", "", (note, links(button)))]


def verdict(snapshot: Snapshot) -> list[Card]:
    """The verdict on the run, or the verdict so far, the reasons and the next steps."""
    verdict_words, label = snapshot.run.verdict, "Verdict"
    if snapshot.run.status == "running":
        spent = balance(snapshot.totals, snapshot.ranks, snapshot.run.metrics)
        if spent is not None and spent.steps >= SETTLED:
            verdict_words, label = verdict_of(snapshot.run, snapshot.totals), "So far"
    if not verdict_words:
        return []
    texts = {name: without_options(text) for name, text in verdict_words.items()}
    headline = paragraph(line(label, tone="label"), line(texts["verdict"], tone="heading"))
    reasons = paragraph(line(texts["why"], "Why"), line(texts["next"], "Next"))
    buttons = _buttons(snapshot) if snapshot.run.ended else []
    actions_card = [Card("actions", "", (links(*buttons),))] if buttons else []
    return [Card("verdict", "", (headline,), tone="verdict"), Card("why", "", (reasons,)), *actions_card]


def _buttons(snapshot: Snapshot) -> list[Part]:
    """Links for the actions that the verdict recommends: to compare with a run that has been, or to run it."""
    run, buttons, in_recording = snapshot.run, [], recorded(snapshot.store.database) is not None
    for number, action in enumerate(actions(run), 1):
        other = run_like(snapshot.store, run, action)
        if other is not None:
            url = f"history?compare={run.id},{other}"
            buttons.append(link(url, f"Compare with run {other} ({action.words})", button=True))
        elif not in_recording:
            buttons.append(link(f"run?run={run.id}&change={number}", f"Set up a run with {action.words}", button=True))
    if snapshot.workload is not None and snapshot.workload.lab in {lab.name for lab in labs()}:
        buttons.append(link(f"labs?lab={snapshot.workload.lab}", "Open the lab that explains it", button=True))
    return buttons


def machine(snapshot: Snapshot) -> list[Card]:
    """The ranks on the machine; for a run that waits, where they are planned."""
    run = snapshot.run
    if run.status == "queued":
        answer = planned(snapshot)
        if answer is None or answer.rank_map is None:
            return []
        plot = machine_picture(answer.machine, answer.rank_map, threads_of(run))
        return [Card("machine", "Where the ranks are planned", (figure(plot, WIDTH),), tone="machine")]
    return machine_card("Where the ranks run", run.machine, run.rank_map, threads_of(run))


def planned(snapshot: Snapshot) -> Prediction | None:
    """The prediction for a run that waits, on its session's machine."""
    session = snapshot.store.session(snapshot.run.session_id)
    return prediction(replace(snapshot.run, machine=session.machine, rank_map=session.rank_map))


def came_out(snapshot: Snapshot) -> list[Card]:
    """Metrics that fit into a tile and that no other card tells. Before the end, the room of those that matter."""
    run = snapshot.run
    if not run.ended and snapshot.workload is not None:
        run = replace(run, metrics=dict.fromkeys(snapshot.workload.results, "–"))
    metrics_of_panels = frozenset[str]().union(*(panel.metrics for panel in snapshot.own_panels))
    both = metrics_in_two(run, metrics_of_panels)
    first, rest = ([metric for metric in some if len(metric["value"]) <= LONGEST_VALUE] for some in both)
    more = [fold("All others", "\n".join(f"{metric['label']}: {metric['value']}" for metric in rest))] if rest else []
    return [Card("metrics", "What came out", (tiles(first), *more))] if first else []


def noted(snapshot: Snapshot) -> list[Card]:
    """The notes that the submitter and the instructor have written on the run."""
    labels = {"submitter": who(snapshot.run), "instructor": INSTRUCTOR}
    lines = [line(text, f"{labels[author]}:") for author, text in snapshot.store.notes(snapshot.run.id).items()]
    return [Card("notes", "Notes", (paragraph(*lines),))] if lines else []


def files(snapshot: Snapshot) -> list[Card]:
    targets = [link(snapshot.url(name), name, size(artifact.size)) for name, artifact in snapshot.artifacts.items()]
    return [Card("files", "Files", (links(*targets),))] if targets else []


TITLE = "Predicted against measured"
LEGEND = "A dashed frame in a rank's colour is where it was meant to run; a dotted frame or ! is where it wasn't."


def predicted(snapshot: Snapshot) -> list[Card]:
    """The difference in words, and in a picture where there is one."""
    run = snapshot.run
    answer = prediction(run)
    if answer is None:
        return []
    if answer.rank_map is None:
        note = answer.note or f"The mapper refuses this placement: {answer.refused}"
        return [Card("predicted", TITLE, (about(note),))]
    differences = difference(answer.rank_map, run.rank_map, run.machine)
    if not differences:
        return [Card("predicted", TITLE, (paragraph(line(AS_MEANT)),))]
    predicted_map = aligned(answer.rank_map, run.rank_map)
    parts: list[Part] = [paragraph(*(line(sentence, tone="note") for sentence in sentences(differences)))]
    if any(each_difference.kind != "threads" for each_difference in differences):
        plot = machine_picture(run.machine, run.rank_map, threads_of(run), predicted_map)
        parts += [figure(plot, WIDTH), about(LEGEND)]
    return [Card("predicted", TITLE, tuple(parts))]
