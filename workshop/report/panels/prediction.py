"""Where the ranks were meant to run against where they ran."""

from __future__ import annotations

from workshop.report.analysis.difference import AS_MEANT, aligned, difference, sentences
from workshop.report.analysis.oversubscription import threads_of
from workshop.report.cards import Card, Part, figure, line, words
from workshop.report.figures.machine import WIDTH, machine_picture
from workshop.report.predictions import PREDICTIONS
from workshop.report.snapshot import Snapshot

TITLE = "Predicted against measured"
LEGEND = "A dashed frame in a rank's colour is where it was meant to run; a dotted frame or ! is where it wasn't."


def predicted(snapshot: Snapshot) -> list[Card]:
    """The difference in words, and in a picture where there is one; nothing until the mapper has answered."""
    run = snapshot.run
    answer = PREDICTIONS.of(run)
    if answer is None:
        return []
    if answer.rank_map is None:
        said = answer.note or f"The mapper refuses this placement: {answer.refused}"
        return [Card("predicted", TITLE, (words(line(said, tone="about")),), later=True)]
    found = difference(answer.rank_map, run.rank_map, run.machine)
    if not found:
        return [Card("predicted", TITLE, (words(line(AS_MEANT)),), later=True)]
    meant = aligned(answer.rank_map, run.rank_map)
    parts: list[Part] = [words(*(line(said, tone="note") for said in sentences(found)))]
    if any(one.kind != "threads" for one in found):
        drawn = machine_picture(run.machine, run.rank_map, threads_of(run), meant)
        parts += [figure(drawn, WIDTH), words(line(LEGEND, tone="about"))]
    return [Card("predicted", TITLE, tuple(parts), later=True)]
