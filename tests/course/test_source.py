"""Sources are read cell by cell, and a bad one is told with all that is wrong with it."""

from __future__ import annotations

import ast

import jupytext
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.course import labs
from workshop.course import source
from workshop.course.exercise_checks import PLACEHOLDER
from workshop.course.source import BEGIN, END, BadSource, SourceCell, parse


def told(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(BadSource) as raised:
        parse(text, "labs/x/notebook.md")
    assert all(line.startswith("labs/x/notebook.md") for line in str(raised.value).splitlines())
    return [(problem.line, problem.text) for problem in raised.value.problems]


def test_cells_of_a_lab() -> None:
    cells = parse(labs.NOTEBOOK)
    assert [cell.kind for cell in cells[:4]] == ["markdown", "code", "markdown", "code"]
    assert [cell.line for cell in cells[:2]] == [1, 14]
    (exercise,) = [cell for cell in cells if cell.is_exercise]
    assert exercise.metadata == {"tags": ["exercise"]}
    assert labs.NOTEBOOK.split("\n")[exercise.line - 1] == "def total(one, other):"


def test_two_blank_lines_part_cells() -> None:
    assert [cell.text for cell in parse("one\n\nstill one\n\n\ntwo\n")] == ["one\n\nstill one", "two"]


def test_blank_lines_within_and_below_indented_code_part_nothing() -> None:
    assert len(parse("one\n\n    x = 1\n\n\n    y = 2\n\n\ntwo\n")) == 1
    assert len(parse("one\n    more\n\n\ntwo\n")) == 2


def test_header_of_jupytext_is_passed_over() -> None:
    assert parse("---\njupyter:\n  a: 1\n---\n\ntext\n") == (SourceCell("markdown", "text"),)


def test_text_blocks_stay_in_their_cell() -> None:
    (cell,) = parse("Look:\n\n```text\none\n\n\ntwo\n```\n\nEnd.\n")
    assert cell.text.endswith("```\n\nEnd.")


def test_longer_fences_hold_shorter_ones() -> None:
    (cell,) = parse('````python\ntext = """\n```\n"""\n````\n')
    assert cell.text == 'text = """\n```\n"""'


EXERCISE = f"def f(x):\n    y = x\n    {BEGIN}\n    return y\n    {END}"


def test_solution_and_placeholder() -> None:
    assert SourceCell("code", EXERCISE).solved == "def f(x):\n    y = x\n    return y"
    assert SourceCell("code", EXERCISE).unsolved == f"def f(x):\n    y = x\n    {PLACEHOLDER}"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("```python tags=[exercise]\nx\n```\n", 1, "a list of words"),
        ('```python tags="exercise"\nx\n```\n', 1, "a list of words"),
        ("```python exercise\nx\n```\n", 1, "should be like"),
        ("```python name=[x\nx\n```\n", 1, "should be like"),
        ('```python active="md"\nx\n```\n', 2, "neither text nor Python"),
        ("---\njupyter: [\n---\n\ntext\n", 1, "jupytext can't read it"),
        ("# Title\n\n```py\nx\n```\n", 3, "is shown and not run"),
        ("# Title\n\n```text\nx\n", 3, "never closed"),
        ("text\n\n```bash\nls\n```\n", 3, "'bash' would be a cell of another language"),
        ("text\n\n```python\nx = 1\n", 3, "never closed"),
        ("```python\nx = 1\ny = (\n```\n", 3, "no Python"),
        ("```python\n\n```\n", 2, "empty"),
        ('```python tags=["exercise"]\nx = 1\n```\n', 2, "has its solution between"),
        (f"```python\n{EXERCISE}\n```\n", 2, "is an exercise"),
        ('```python tags=["exercise"]\n# begin solution\nx = 1\n```\n', 2, "has its solution between"),
        (f'```python tags=["exercise"]\n{BEGIN}\nx = 1\n```\n', 2, "never ends"),
        (f'```python tags=["exercise"]\n{END}\nx = 1\n```\n', 2, "has not begun"),
        (f'```python tags=["exercise"]\n{BEGIN}\n{BEGIN}\nx = 1\n{END}\n```\n', 3, "within the one"),
        (f'```python tags=["exercise"]\nif True:\n{BEGIN}\n    x = 1\n{END}\n```\n', 2, "without its solution"),
    ],
)
def test_problems_are_told_by_line(text: str, line: int, said: str) -> None:
    assert any(where == line and said in what for where, what in told(text)), told(text)


def test_every_problem_is_told_at_once() -> None:
    assert [line for line, _ in told("```bash\nls\n```\n\n```python\n(\n```\n")] == [1, 6]


def test_tags_and_magics_survive() -> None:
    (cell,) = parse('```python tags=["raises-exception", "slow"] name="x"\n%%ranks --seconds 3\n1 / 0\n```\n')
    assert cell.metadata["tags"] == ["raises-exception", "slow"] and cell.metadata["name"] == "x"
    assert cell.text == "%%ranks --seconds 3\n1 / 0"


@pytest.mark.parametrize(
    "code",
    ["%%ranks --seconds 3\nprint(rank)", "%%bash\nls |", "%matplotlib inline\nx = 1", "!ls\nawait x", "x = 10 % 3"],
)
def test_what_only_ipython_understands_is_right(code: str) -> None:
    (cell,) = parse(f"```python\n{code}\n```\n")
    assert cell.text == code


# What jupytext has written is read as it was, and each cell is found where it stands.

words = st.sampled_from(["One.", "- item", "    indented", "## Heading", "$x$", "", "more `code`"])
markdown = st.lists(words, min_size=1, max_size=6).map("\n".join).filter(str.strip).map(new_markdown_cell)
statements = st.sampled_from(["x = 1", "", "if x:\n    y = 2", 's = """\n```\n"""', "# text", "%time f()", "%%ranks"])
code = st.lists(statements, min_size=1, max_size=5).map("\n".join).filter(str.strip).map(new_code_cell)


@given(st.lists(st.one_of(markdown, code), max_size=8))
def test_cells_are_read_and_found(cells: list[NotebookNode]) -> None:
    text = jupytext.writes(new_notebook(cells=cells, metadata={"jupytext": {"main_language": "python"}}), fmt="md")
    found, _ = source.look(text)
    again = jupytext.reads(text, fmt="md").cells
    assert [cell.text for cell in found] == [cell.source for cell in again]
    assert [cell.kind for cell in found] == [cell.cell_type for cell in again]
    lines = text.split("\n")
    last = 0
    for cell in found:
        size = cell.text.count("\n") + 1
        assert lines[cell.line - 1 : cell.line - 1 + size] == cell.text.split("\n")
        assert cell.line > last
        last = cell.line + size - 1


@given(st.text(st.sampled_from('`#-<>! \npythonregiend{}[]"=:BEGINSOLUT'), max_size=200))
def test_any_text_is_read_or_told(text: str) -> None:
    cells, problems = source.look(text)
    assert all(cell.kind in ("markdown", "code") for cell in cells)
    assert all(problem.line is None or 1 <= problem.line <= text.count("\n") + 2 for problem in problems)


@given(
    st.lists(st.sampled_from(["x = 1", "y = x", "", "# text"]), max_size=4),
    st.lists(st.sampled_from(["z = 3", "w = z", "for i in x:\n        w = i"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["q = 5", "return q"]), max_size=3),
)
def test_solutions_never_reach_learners(before: list[str], solution: list[str], after: list[str]) -> None:
    inside = [f"    {line}" for line in [*before, BEGIN, *solution, END, *after]]
    text = "\n".join(["def f(x):", *inside])
    (cell,) = parse(f'```python tags=["exercise"]\n{text}\n```\n')
    ast.parse(cell.solved)
    ast.parse(cell.unsolved)
    shown = [line.strip() for line in cell.unsolved.split("\n")]
    assert shown.count(PLACEHOLDER) == 1
    assert not {line.strip() for part in solution for line in part.split("\n")} & set(shown)
    assert BEGIN not in cell.solved and END not in cell.solved
