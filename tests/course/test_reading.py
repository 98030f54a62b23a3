"""Labs as texts for a browser: their sections, predictions, and the runs that can be started without a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.course import catalogue, notebook, reading
from workshop.course.reading import LabRun, LabSection
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
