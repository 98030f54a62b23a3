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
    answer = PREDICTIONS.lookup(run)
    if answer is None:
        return []
    if answer.rank_map is None:
        note = answer.note or f"The mapper refuses this placement: {answer.refused}"
        return [Card("predicted", TITLE, (words(line(note, tone="about")),), later=True)]
    differences = difference(answer.rank_map, run.rank_map, run.machine)
    if not differences:
        return [Card("predicted", TITLE, (words(line(AS_MEANT)),), later=True)]
    predicted_map = aligned(answer.rank_map, run.rank_map)
    parts: list[Part] = [words(*(line(sentence, tone="note") for sentence in sentences(differences)))]
    if any(each_difference.kind != "threads" for each_difference in differences):
        plot = machine_picture(run.machine, run.rank_map, threads_of(run), predicted_map)
        parts += [figure(plot, WIDTH), words(line(LEGEND, tone="about"))]
    return [Card("predicted", TITLE, tuple(parts), later=True)]
