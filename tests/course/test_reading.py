"""What readers in a browser get: labs in sections with their runs, run sheets, glossary, dictionary and paths."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.course import catalogue, notebook, reading
from workshop.course.reading import LabRun, LabSection
from workshop.mpi import reader
from workshop.registry import workload

TEXT = """# Lab 9: A lab

Read [the script](labs/kmeans/kmeans.py) first.

## Run

```python
work = {"clusters": 4, "on": True}
lab.predict("two", -1.5)
a = session.run("kmeans", **work, ranks=1)
for ranks in (1, 2):
    session.run("kmeans", **{**work, "clusters": 8}, ranks=ranks)
case = workshop.failures["x"]
session.run(case.workload, **case.params)
```

```python
%%ranks
print(rank)
```

```python tags=["exercise"]
def shard():
    # BEGIN SOLUTION
    return 1
    # END SOLUTION
```

## Quiz

```python
session.quiz("kmeans")
```
"""


def sections(folder: Path, text: str) -> tuple[LabSection, ...]:
    (folder / "notebook.md").write_text(text)
    return reading.read(folder)


def test_a_lab_in_sections(tmp_path: Path) -> None:
    about, run, quiz = sections(tmp_path, TEXT)
    assert (about.title, run.title, quiz.title) == ("1. About this lab", "2. Run", "3. Quiz")
    assert about.links == ("labs/kmeans/kmeans.py",) and "**the script**" in about.cells[0].text
    assert not about.cells[0].text.startswith("#"), "the page has the title"
    settings = {"clusters": 4, "on": True, "ranks": 1}
    eight = {**settings, "clusters": 8}
    assert run.cells[0].runs == tuple(LabRun("kmeans", chosen) for chosen in (settings, eight, {**eight, "ranks": 2}))
    assert run.cells[0].runs[0].words == "clusters 4, on on, 1 rank"
    assert run.predictions == ("two",)
    assert run.cells[1].is_code and run.cells[1].runs == ()
    assert run.cells[2].is_exercise and "return 1" not in run.cells[2].text, "a learner gets no solution"
    assert quiz.cells[0].quiz


def test_a_further_notebook_is_read_like_its_lab(tmp_path: Path) -> None:
    folder = tmp_path / "heat-flow"
    (folder / "further").mkdir(parents=True)
    (folder / "notebook.md").write_text(TEXT + "\nFurther: [rods](9-heat-flow-thin-rods.ipynb).\n")
    (folder / "further" / "thin-rods.md").write_text(TEXT.replace("# Lab 9: A lab", "# Further: thin rods", 1))
    assert reading.further_titles(folder) == {"thin-rods": "Further: thin rods"}
    about, *others = reading.read(folder, "thin-rods")
    lab_about, *lab_others = reading.read(folder)
    assert (about.title, lab_about.title) == ("1. About this notebook", "1. About this lab")
    assert about.cells == lab_about.cells and others[0] == lab_others[0]
    assert "[rods](labs?lab=heat-flow&further=thin-rods)" in lab_others[-1].cells[-1].text, "a page, and no file"


def test_a_variable_that_is_not_plain_any_more_starts_nothing(tmp_path: Path) -> None:
    text = '## Run\n\n```python\nn = 2\nn = n + 1\nsession.run("kmeans", ranks=n)\n```\n'
    assert sections(tmp_path, text)[1].cells[0].runs == ()
    with pytest.raises(BadInput, match="never closed"):
        sections(tmp_path, "## Run\n\n```python\nn = 2\n")


@pytest.mark.parametrize("folder", catalogue.folders(), ids=lambda folder: folder.name)
def test_each_run_and_link_of_the_course_is_valid(folder: Path) -> None:
    lab = reading.read(folder)
    assert any(cell.quiz for section in lab for cell in section.cells)
    for section in lab:
        assert all(notebook.file(link) is not None for link in section.links)
        for run in (run for cell in section.cells for run in cell.runs):
            model = workload(run.workload).params
            fields = {name: value for name, value in run.settings.items() if name not in model.model_fields}
            workload(run.workload).check({key: run.settings[key] for key in run.settings.keys() - fields.keys()})
            Placement.parse(fields)


def test_each_step_has_code_or_a_note_in_each_framework() -> None:
    entries = reading.read_dictionary()
    assert len(entries.steps) == 10 and len(entries.frameworks) == 6
    for step in entries.steps:
        for name, entry in step.entries.items():
            assert entry.code or entry.note, (step.title, name)
            ast.parse(entry.code)


def test_commands_of_mpis_start_the_ranks_that_the_dictionary_names() -> None:
    placements = {}
    for command in reading.read_dictionary().launch.commands:
        if command.title.partition(" ")[0] in ("torchrun", "DeepSpeed"):
            continue
        read = reader.parse(command.line)
        placements[command.title] = read.placement
        assert read.unknown in ((), ("--cpu-bind=cores",)), command.title
    assert len(placements) == 6
    for title, placement in placements.items():
        assert placement.ranks == 4, title
        assert [(host.name, host.slots) for host in placement.hosts] == [("n1", 2), ("n2", 2)], title
        assert placement.bind_to in ("auto", "core"), title


def test_a_damaged_dictionary_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / reading.DICTIONARY
    monkeypatch.setattr(config, "labs_folder", lambda: tmp_path)
    with pytest.raises(BadInput, match=r"dictionary\.yaml"):
        reading.read_dictionary()
    shutil.copy(Path(__file__).parents[2] / "labs" / reading.DICTIONARY, path)
    path.write_text(path.read_text().replace('      mpi: {code: "rate', '      mpo: {code: "rate'))
    with pytest.raises(BadInput, match="'Scale the learning rate' should have an entry for each framework"):
        reading.read_dictionary()
    path.write_text("frameworks: {}\n")
    with pytest.raises(BadInput, match="steps: Field required"):
        reading.read_dictionary()


def test_every_lab_s_run_sheet_fills_the_lab_s_time() -> None:
    for folder, lab in catalogue.readable():
        steps = reading.read_run_sheet(folder)
        starts = [sum(step.minutes for step in steps[:place]) for place in range(len(steps) + 1)]
        assert [step.start for step in steps] == starts[:-1] and starts[-1] == lab.minutes, folder.name
        parts = [step.part for step in steps]
        assert parts == sorted(parts) and parts[-1] <= len(reading.read(folder)), folder.name
        assert steps[-1].deck == lab.deck, folder.name
        assert all(step.exercise <= len(lab.exercises) for step in steps if step.exercise), folder.name


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("# Run sheet", "has no table with the columns from | min | part"),
        (
            f"| {' | '.join(reading.COLUMNS)} |\n|---|---|---|---|---|---|\n| 0 | many | 1 | a | b | c |",
            "line 3: a row has",
        ),
        (f"| {' | '.join(reading.COLUMNS)} |\n|---|---|---|---|---|---|\n| 0 | 3 | a |", "line 3: a row has"),
    ],
)
def test_a_run_sheet_that_can_t_be_read(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / reading.FILE).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as raised:
        reading.read_run_sheet(tmp_path)
    assert wrong in str(raised.value)


def test_each_lab_explains_terms_and_each_term_is_there_once() -> None:
    terms = reading.read_terms()
    names = [term.name.casefold() for term in terms]
    assert names == sorted(set(names))
    assert {term.lab for term in terms} == {folder.name for folder, _ in catalogue.readable()}
    by_name = {term.name: term for term in terms}
    assert by_name["All-reduce"].lab == "kmeans"  # of three labs, the first one in the course
    assert "\n" not in by_name["Drift"].text  # an item over several lines is one text
    assert by_name["Ranking"].text == by_name["Binding"].text  # of one item


def test_paths_add_up_the_minutes_of_their_labs() -> None:
    labs = {folder.name: lab for folder, lab in catalogue.readable()}
    by_title = {path.title: path for path in catalogue.read()}
    day = by_title["A day"]
    assert day.minutes(labs) == sum(labs[name].minutes for name in day.labs)
    longest = by_title["Three days"]
    assert longest.minutes(labs) > sum(labs[name].minutes for name in longest.labs)  # with the extras


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("paths: [{title: A, audience: B, labs: [nowhere]}]", "There is no lab 'nowhere'"),
        ("paths: [{title: A, audience: B, labs: []}]", "paths.0.labs"),
        ("paths: [", "paths.yaml, line 1"),
    ],
)
def test_a_bad_file_of_paths_is_refused_with_its_fault(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / catalogue.FILE).write_text(text)
    monkeypatch.setattr(config, "labs_folder", lambda: tmp_path)
    with pytest.raises(BadInput, match=expected):
        catalogue.read()
