"""The page Scale to 2,048 nodes: a calibrated step, predicted for more ranks and changes, checked where it can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.registry import workload_title
from workshop.report.cards import Card, figure, line
from workshop.report.cards import paragraph as text
from workshop.report.sentences import STATUS
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.study.guided.kind import Answer, NumberGuess
from workshop.web import actions
from workshop.web.pages import blocks, frame, predictions
from workshop.workloads.scale import WORKLOAD, StepParams, regression, training_run
from workshop.workloads.scale import cards as scale_cards
from workshop.workloads.scale.exchange import ALGORITHMS
from workshop.workloads.scale.step import StepMeasurement, StepPrediction, predict

WORDS = (
    "Two cores can't show two thousand nodes, but they can measure what a step is made of. A model predicts the rest, "
    "with intervals of 90 %. Predict first, change one thing, and run it where this machine can."
)
MEASURED = {"per_host": 2, "spread": 0.1}  # params of the step that the page calibrates
MOST_RUN = 8  # ranks that this page runs
COUNTS = tuple(2**power for power in range(13))
FAR = 2048
GUESS = NumberGuess(f"How much of perfect scaling is left on {FAR:,} ranks?", "%", 0, 100, 1)
GUESSES = {"efficiency": GUESS}
EVERY = 2.0  # seconds between looks at a run that goes on
RECENT = 100
FACTORS = (0.1, 0.5, 1, 2, 10, 100)


def page() -> None:
    """Draw the page."""
    identity = frame.heading("Scale to 2,048 nodes", WORDS)
    session = frame.choose_session()
    here, literature = st.tabs([":material/straighten: This machine", ":material/public: Published machines"])
    with here:
        _this_machine(session, identity)
    with literature:
        _published()


def _this_machine(session: SessionRecord | None, identity: Identity) -> None:
    runs = frame.store().runs(session_id=session.id, limit=RECENT) if session else []
    steps = [run for run in runs if run.workload == WORKLOAD.name]
    candidates = [run for run in runs if run.status == "completed" and _is_usable(run.id)]
    candidates.sort(key=lambda run: run.workload != WORKLOAD.name)
    live = next((run for run in steps if not run.ended), None)
    if st.button("Measure the parts", icon=":material/speed:", disabled=session is None) and session is not None:
        _submit(session, identity, MEASURED, 4)
    if live is not None:
        st.fragment(run_every=EVERY)(_wait)(live.id)
    if not candidates:
        st.info("Nothing is measured yet. *Measure the parts* runs a step on four ranks, two on each emulated host.")
        return
    calibrated = (
        st.selectbox("Measured by", candidates, format_func=_run_words) if len(candidates) > 1 else candidates[0]
    )
    frame.run_link(calibrated.id, _run_words(calibrated))
    with blocks.errors():
        measurement = training_run.measurement(frame.store(), calibrated)
        guesses = predictions.ask("scale", GUESSES, identity, measured=False)
        if not guesses and identity.role == "learner":
            return
        _predict(calibrated, measurement, session, identity, steps)
        first, far = _predictions(calibrated.id, measurement.params.model_dump(), (COUNTS[0], FAR))
        efficiency = 100 * far.rate / FAR / first.rate
        predictions.score(GUESSES, guesses, {"efficiency": Answer(efficiency)}, {})


@st.cache_data(max_entries=RECENT, show_spinner=False)
def _is_usable(run_id: int) -> bool:
    """Whether a run that has ended makes a calibration; the events of a short training are too few."""
    try:
        training_run.measurement(frame.store(), frame.store().run(run_id))
    except BadInput:
        return False
    return True


def _run_words(run: RunRecord) -> str:
    return f"Run {run.id} · {workload_title(run.workload)} · measured on {run.placement.get('ranks')} ranks"


def _wait(run_id: int) -> None:
    run = frame.store().run(run_id)
    if run.ended:
        st.rerun()
    frame.run_link(run.id, f"Run {run.id} · {STATUS[run.status]}")


def _submit(session: SessionRecord, identity: Identity, params: Mapping[str, Any], ranks: int) -> None:
    placement = {**session.placement, "ranks": ranks, "oversubscribe": True}
    with blocks.errors():
        actions.submit(frame.store(), identity, session, WORKLOAD.name, params, placement)
        st.rerun()


@st.cache_data(max_entries=200, show_spinner="Predicting …")
def _predictions(run_id: int, params: Mapping[str, Any], counts: Sequence[int]) -> list[StepPrediction]:
    """Steps with these params, by the calibration of a run."""
    measurement = training_run.measurement(frame.store(), frame.store().run(run_id))
    return [predict(measurement, StepParams(**params), count) for count in counts]


def _predict(
    run: RunRecord,
    measurement: StepMeasurement,
    session: SessionRecord | None,
    identity: Identity,
    steps: Sequence[RunRecord],
) -> None:
    measured = measurement.params
    form, results = st.columns([1, 3], gap="medium")
    with form, st.container(border=True):
        st.markdown("#### What if …")
        ranks = st.select_slider("Ranks", COUNTS, value=measurement.calibration.ranks, format_func=words.quantity)
        algorithm = st.selectbox("All-reduce", ALGORITHMS, ALGORITHMS.index(measured.algorithm))
        factor = st.select_slider("Bandwidth of the network, times", FACTORS, value=1)
        choices = {
            "overlap": st.toggle("Exchange while computing"),
            "half": st.toggle("Half the bytes"),
            "slow": 2.0 if st.toggle("A rank twice as slow") else measured.slow,
            "spread": 0.0 if st.toggle("No spread of compute") else measured.spread,
            "evaluate_every": 1 if st.toggle("Evaluation in every step") else measured.evaluate_every,
        }
        bucket = 100_000 if choices["overlap"] else measured.bucket
        changed = measured.model_copy(
            update={"algorithm": algorithm, "bandwidth": measured.bandwidth * factor, "bucket": bucket, **choices}
        )
        values = changed.model_dump()
        possible = session is not None and session.up and ranks <= MOST_RUN and run.workload == WORKLOAD.name
        if st.button("Run it", type="primary", disabled=not possible) and session is not None:
            _submit(session, identity, {**values, "calibrate": False}, ranks)
        if ranks > MOST_RUN:
            st.caption(f"This machine can check up to {MOST_RUN} ranks.")
    with results:
        curve = _predictions(run.id, values, COUNTS)
        (here,) = _predictions(run.id, values, (ranks,))
        (before,) = _predictions(run.id, measured.model_dump(), (measurement.calibration.ranks,))
        same = [other for other in steps if other.status == "completed" and _same(other, values)]
        rates = {other.placement["ranks"]: other.metrics["examples_per_second"] for other in reversed(same)}
        # The calibrated run itself checks nothing: the rest of its step is a part of the prediction.
        checked = next((other for other in same if other.id != run.id and other.placement["ranks"] == ranks), None)
        rate = checked.metrics["examples_per_second"] if checked else None
        bars = {f"measured settings, {before.ranks} ranks": before, f"changed, {words.quantity(ranks)} ranks": here}
        sentences = [
            line(scale_cards.step_sentence(here, rate)),
            line(scale_cards.limits(curve)),
        ]
        parts = (text(*sentences), figure(scale_cards.steps(bars)), figure(scale_cards.rates(curve, rates)))
        blocks.show(Card("scale", "Predicted", parts), "scale", full_width=True)


def _same(run: RunRecord, values: Mapping[str, Any]) -> bool:
    """Whether a run has these params, apart from its length and its own calibration."""
    usual = {**StepParams().model_dump(), **run.params}
    return all(usual.get(name) == value for name, value in values.items() if name not in ("calibrate", "steps", "seed"))


def _published() -> None:
    machines = regression.machines()
    name = st.selectbox("Machine", list(machines), format_func=lambda name: machines[name].title)
    chosen = machines[name]
    try:
        points = regression.comparison(chosen)
    except BadInput as error:
        st.info(frame.plain(str(error)), icon=":material/info:")
        return
    blocks.show(scale_cards.compared(chosen, points), "published", full_width=True)
    curve_name = st.selectbox("Curve", list(chosen.curves)) if len(chosen.curves) > 1 else next(iter(chosen.curves))
    curve = chosen.curves[curve_name]
    count = regression.fitted_points(curve)
    fitted = dict(zip(curve.workers[:count], curve.rates[:count], strict=True))
    compared = scale_cards.published([point for point in points if point.curve == curve_name], fitted)
    blocks.show(Card("published-curve", curve_name, (figure(compared),)), "published-curve", full_width=True)
