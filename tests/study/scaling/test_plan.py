"""Which trials a scaling study has, and what it refuses.

Scaling cards hold the medians, the ideal, and what others have published.
"""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.study import seed
from tests.web import seed as class_seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Params, Workload
from workshop.registry import workload
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.cards import cards
from workshop.study.grid.axes import read_options, read_settings
from workshop.study.kinds import report
from workshop.study.scaling.plan import default_ranks, plan, read_ranks

MNIST, KMEANS = workload("mnist"), workload("kmeans")


@given(st.sets(st.integers(1, 16), min_size=2, max_size=6), st.integers(1, 40), st.integers(1, 5))
def test_strong_scaling_keeps_the_batch_of_all_ranks(ranks: set[int], factor: int, repeats: int) -> None:
    import math

    batch = math.lcm(*ranks) * factor
    if batch > 60_000:
        return
    study = plan(MNIST, {"batch": batch}, sorted(ranks), Placement(), repeats=repeats)
    trials = study.trials()
    assert len(trials) == len(ranks) * repeats
    for trial in trials:
        assert trial.params["batch"] * trial.placement["ranks"] == batch
        assert trial.params["scale"] == "none", "the same batch, the same learning rate"
        assert trial.params["epochs"] == MNIST.params().model_dump()["epochs"]
        MNIST.check(trial.params)
        Placement.parse(trial.placement)
    assert json.loads(json.dumps(study.description())) == study.description()


@given(st.sets(st.integers(1, 16), min_size=2, max_size=6), st.integers(1, 500))
def test_a_batch_that_does_not_divide_is_refused_and_the_offered_one_is_not(ranks: set[int], batch: int) -> None:
    if all(batch % number == 0 for number in ranks):
        return
    with pytest.raises(BadInput, match=r"can't divide.*--set batch=\d+, or compare with --weak\.$") as refused:
        plan(MNIST, {"batch": batch}, sorted(ranks), Placement())
    offered = int(str(refused.value).partition("batch=")[2].partition(",")[0])
    if offered <= 60_000:
        assert plan(MNIST, {"batch": offered}, sorted(ranks), Placement()).params["batch"] == offered


@given(st.sets(st.integers(1, 16), min_size=2, max_size=6), st.integers(1, 500), st.integers(1, 60))
def test_weak_scaling_keeps_the_batch_of_each_rank(ranks: set[int], batch: int, epochs: int) -> None:
    study = plan(MNIST, {"batch": batch, "epochs": epochs}, sorted(ranks), Placement(), weak=True)
    for trial in study.trials():
        assert trial.params["batch"] == batch
        assert trial.params["epochs"] == epochs * trial.placement["ranks"], "as much to read for each rank"
        assert trial.params["scale"] == "linear"


def test_k_means_divides_its_points_by_itself() -> None:
    blobs = {"data": "blobs", "points": 1000}
    strong = plan(KMEANS, blobs, [1, 2, 4], Placement())
    assert {cell.params["points"] for cell in strong.cells} == {1000}
    weak = plan(KMEANS, blobs, [1, 2, 4], Placement(), weak=True)
    assert [cell.params["points"] for cell in weak.cells] == [1000, 2000, 4000]
    assert plan(KMEANS, {}, [1, 2], Placement()).params["data"] == "photo"
    with pytest.raises(BadInput, match=r"needs more points.*data photo.*--set data=blobs"):
        plan(KMEANS, {}, [1, 2], Placement(), weak=True)


@pytest.mark.parametrize(
    ("given_", "ranks", "more", "says"),
    [
        ({}, [1], {}, "of 2 to 32 values"),
        ({}, [1, 2, 2], {}, "has the value 2 twice"),
        ({}, [1, 2], {"repeats": 0}, "repeats is 0"),
        ({"epochs": 600}, [1, 2], {"weak": True}, "epochs is 1200: it should be at most 1000"),
    ],
)
def test_what_is_refused(given_: dict[str, object], ranks: list[int], more: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        plan(MNIST, given_, ranks, Placement(), **more)
    assert "\n" not in str(refused.value)


def test_a_workload_that_tells_no_rate() -> None:
    silent = Workload("silent", "", "", Params, "")
    with pytest.raises(BadInput, match=r"silent doesn't tell how fast it is.*kmeans, parallel, mnist"):
        plan(silent, {}, [1, 2], Placement())


def test_numbers_of_ranks_are_read() -> None:
    assert read_ranks(" 4,1 , 2", MNIST) == [1, 2, 4]
    for wrong in ("", "1,,2", "1,1", "two", "0,1", "1;2"):
        with pytest.raises(BadInput, match="ranks"):
            read_ranks(wrong, MNIST)


@pytest.mark.parametrize(
    ("cores", "ranks"), [(1, (1, 2)), (2, (1, 2)), (3, (1, 2)), (4, (1, 2, 4)), (48, (1, 2, 4, 8, 16, 32))]
)
def test_by_default_as_many_as_there_are_cores(cores: int, ranks: tuple[int, ...]) -> None:
    assert default_ranks(cores) == ranks


def test_settings_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photo.jpg").touch()
    (tmp_path / "china").touch()
    monkeypatch.chdir(tmp_path)
    assert read_settings(["clusters=8", "--data=blobs"], KMEANS) == {"clusters": "8", "data": "blobs"}
    whole = str(tmp_path / "photo.jpg")
    assert read_settings(["image=photo.jpg"], KMEANS) == {"image": whole}, "it is found from any folder"
    assert read_settings(["image=china"], KMEANS) == {"image": "china"}, "what everybody has goes before a file"
    assert read_settings(["image=nowhere.jpg", "nonsense=a=b"], KMEANS) == {"image": "nowhere.jpg", "nonsense": "a=b"}
    for wrong in (["clusters"], ["=8"], ["clusters=8", "clusters=9"]):
        with pytest.raises(BadInput):
            read_settings(wrong, KMEANS)


def test_options_are_settings() -> None:
    assert read_options(["--batch", "32", "--exchange=mpi", "--rate", "-1"]) == ["batch=32", "exchange=mpi", "rate=-1"]
    for wrong in (["batch"], ["--batch"], ["--batch", "--exchange=mpi"], ["--"], ["-b", "1"]):
        with pytest.raises(BadInput):
            read_options(wrong)


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


def figures(store: Store, session: SessionRecord, **study: int) -> dict[str, go.Figure]:
    made = cards(report(store, store.study(seed.study(store, session, **study).id)))
    return {card.name: part["figure"] for card in made for part in card.parts if part["kind"] == "figure"}


def test_speed_up_and_throughput(store: Store, session: SessionRecord) -> None:
    drawn = figures(store, session, failing=4)
    speed = {trace.name: trace for trace in drawn["speed-up"].data}
    assert list(speed["measured here"].y) == pytest.approx([1.0, 9900 / 5200])
    assert list(speed["ideal"].y) == [1.0, 2.0, 4.0]
    assert {"ResNet-50, 2 GPUs (Jain 2022)", "U-Net, 2 nodes (Sobhee 2021)"} < speed.keys()
    assert [(note.text) for note in drawn["speed-up"].layout.annotations] == ["failed"], "four ranks"
    rates = {trace.name: trace for trace in drawn["throughput"].data}
    assert list(rates["measured here"].y) == [5200.0, 9900.0]
    for figure in drawn.values():
        assert "NaN" not in figure.to_json()
        json.loads(figure.to_json())
