"""Runs from a notebook: names of params and placement in one call, progress, the run that shows itself, the stop
button, failures."""

from __future__ import annotations

import os
import signal

import pytest

from tests.notebook.kernel import Kernel
from tests.notebook.sessions import DASHBOARD, PLOTLY, WORK, displays, going, meanwhile, press_stop, process_of, shown
from workshop.store.store import Store

LONG = "data='blobs', points=2000, iterations=400, tolerance=0, pace=0.2, threads=1"


@pytest.fixture(scope="module")
def done(class_notebook: Kernel) -> list[dict[str, str]]:
    """What a cell with one run has shown."""
    before = len(class_notebook.sent)
    class_notebook.run(f"run = session.run('kmeans', {WORK}, ranks=2, threads=1)\nrun")
    return displays(class_notebook, before)


def test_a_run_shows_how_far_it_is_and_then_itself_once(done: list[dict[str, str]], class_store: Store) -> None:
    texts = [one["text/plain"] for one in done]
    (run,) = class_store.runs(workload="kmeans", status="completed")
    assert texts[0].startswith(f"Run {run.id}: k-means on 2 ranks × 1 thread: ") and "completed" not in texts[0]
    last = [text for text in texts if f"Run {run.id}: k-means on 2 ranks × 1 thread: completed" in text]
    assert len(last) == 1, texts
    for words in ("Verdict: ", "Why: ", "Next: ", "inertia ", f"{DASHBOARD}/run?run={run.id}"):
        assert words in last[0]
    html = next(one["text/html"] for one in done if one["text/plain"] == last[0])
    assert f'href="{DASHBOARD}/run?run={run.id}"' in html
    assert [one for one in done if PLOTLY in one], "no figure"
    assert (run.submitted_by, run.identity_id) == ("", None)


def test_what_a_run_has(class_notebook: Kernel, done: list[dict[str, str]]) -> None:
    assert class_notebook.run("run.status, run.error, run.metrics['iterations']") == "('completed', None, 4)"
    assert class_notebook.run("sorted(run.verdict), bool(run.verdict['why'])") == "(['next', 'verdict', 'why'], True)"
    assert class_notebook.run("list(run.events()), run.events('inertia').value.notna().all()") == (
        "(['rank', 'name', 'step', 'time', 'value'], np.True_)"
    )
    assert class_notebook.run("run.events('inertia', rank=0).step.tolist()") == "[1, 2, 3, 4]"
    assert "The first 3 events" in class_notebook.run("len(run.events(limit=3))")
    assert class_notebook.run("len(run.events(limit=None)) == len(run.events())") == "True"
    figures = class_notebook.run("run.figures")
    assert "'inertia'" in figures
    assert "'times'" in figures
    assert class_notebook.run("run.figure('times').data[0].type") == "'bar'"
    assert class_notebook.run("run.figure() == run.figure(run.figures[0])") == "True"
    assert "rank 1" in class_notebook.run("run.rank_map()")
    assert class_notebook.run("run.rank_map().table['rank'].tolist()") == "[0, 1]"
    assert class_notebook.run("session.rank_map().figure.layout.shapes is not None") == "True"
    assert class_notebook.run("print(run)").startswith("Run ")
    assert class_notebook.run("dict(run.artifacts) == {name: run.artifacts[name] for name in run.artifacts}") == "True"


def test_a_figure_is_drawn_without_a_network(class_notebook: Kernel, done: list[dict[str, str]]) -> None:
    before = len(class_notebook.sent)
    class_notebook.run("display(run.figure('times'))")
    (one,) = displays(class_notebook, before)
    assert set(one) == {PLOTLY, "text/plain"}, "JupyterLab's extension draws it, other programs have words"


def test_ones_own_runs_are_a_table(class_notebook: Kernel, done: list[dict[str, str]]) -> None:
    assert class_notebook.run("session.runs().iloc[-1].workload") == "'kmeans'"
    assert class_notebook.run("session.get(run.id).metrics == run.metrics") == "True"


def test_names_of_both_kinds_in_one_call(class_notebook: Kernel, class_store: Store) -> None:
    asked = (
        "import numpy\nfrom workshop.core.placement import Placement\n"
        "given = Placement(ranks=1, threads=2, environment={'OMP_PLACES': 'cores'}).as_json()\n"
        f"session.run('kmeans', {WORK}, seed=numpy.int64(3), **given)"
    )
    class_notebook.run(asked)
    run = class_store.runs(limit=1)[0]
    assert (run.params["seed"], run.params["points"]) == (3, 2000)
    assert (run.placement["ranks"], run.placement["threads"]) == (1, 2)
    assert run.placement["environment"] == {"OMP_PLACES": "cores"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            "session.run('kmeans', cluster=3)",
            "cluster is not a setting of kmeans or of its placement; did you mean clusters?",
        ),
        ("session.run('kmeans', clusters='<many>')", "kmeans: clusters is '<many>': it should be a whole number"),
        ("session.run('kmeans', map_by='ppr:1:socket:pe=x')", "pe should be a number of cores"),
        ("session.run('mnist', resume=4711)", "There is no run 4711"),
        ("run.figure('time')", "has no figure 'time'; did you mean times?"),
        ("run.metrics['inerti']", "has no metric 'inerti'; did you mean inertia?"),
        ("run.events('inerti')", "told no events 'inerti'; did you mean inertia?"),
        ("workshop.compare(run, 'two')", "'two' is no run"),
    ],
)
def test_what_can_t_be_is_one_sentence(
    class_notebook: Kernel, done: list[dict[str, str]], class_store: Store, call: str, said: str
) -> None:
    before = len(class_store.runs())
    told = class_notebook.run(call)
    assert said in told
    assert "\n" not in told
    assert "Traceback" not in told
    assert len(class_store.runs()) == before


def test_the_stop_button_cancels_the_run_and_ends_the_cell(class_notebook: Kernel, class_store: Store) -> None:
    pid = process_of(class_notebook)
    newest = class_store.runs(limit=1)[0].id
    with meanwhile(class_notebook, f"session.run('kmeans', {LONG})\nprint('went on')") as said:
        run = going(class_store, newest)
        press_stop(pid)
    assert f"Run {run.id} was stopped: it is cancelled. The rest of the cell was not run." in said[0]
    assert "went on" not in said[0]
    assert "Traceback" not in said[0]
    assert class_store.run(run.id).status == "cancelled"
    assert class_notebook.run("1 + 1") == "2"


def test_a_run_that_fails_is_returned_and_says_why(class_notebook: Kernel, class_store: Store) -> None:
    newest = class_store.runs(limit=1)[0].id
    before = len(class_notebook.sent)
    with meanwhile(class_notebook, f"broken = session.run('kmeans', {LONG}, ranks=2)\nprint('went on')") as said:
        run = going(class_store, newest)
        os.kill((run.rank_map or {})["ranks"][1]["pid"], signal.SIGKILL)
    assert "went on" in said[0]
    told = shown(class_notebook, before)
    assert any("Error: Rank 1 on " in text and "SIGKILL" in text for text in told), "\n\n".join(told)
    assert class_notebook.run("broken.status") == "'failed'"
    assert "Rank 1" in class_notebook.run("broken.error")
    assert f"Run {run.id} is failed and has no metrics" in class_notebook.run("broken.metrics['inertia']")
    assert class_notebook.run(f"session.run('kmeans', {WORK}).status == 'completed'").endswith("True")
