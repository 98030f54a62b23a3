"""A small lab, for tests of what is done with labs."""

from __future__ import annotations

from pathlib import Path

NOTEBOOK = """# Lab 1: Small things

About 20 minutes.

## Goal

Add.

## Words

- **Sum**: what comes of adding.

```python
import workshop

session = workshop.attach()
lab = workshop.lab("small")
```

## Predict

How much is it?

## Run

```python
%%ranks
print(rank)
```

## See

Numbers.

## Explain

They add up.

WORDS

## Exercise 1

Add two numbers.

```python tags=["exercise"]
def total(one, other):
    # BEGIN SOLUTION
    return one + other
    # END SOLUTION
```

```python
lab.check("total", total)
```

## Quiz

```python
session.quiz("small")
```

## What to take home

Adding: [the script](labs/small/add.py).
""".replace("WORDS", "Another word, and another one. " * 330)
LAB = """number: 1
title: Small things
minutes: 20
goals: [Add]
needs: []
steps:
  - {name: All of it, minutes: 20}
exercises: [total]
deck: small
"""
CHECKS = '''"""Checks of a small lab."""

from workshop.course.exercise_checks import Hint, exercise


@exercise("total")
def total(given):
    found = given(2, 3)
    if found is None:
        raise Hint("Nothing is there yet: return a number.")
    if found == 6:
        raise Hint("This is the product.")
    if found != 5:
        raise Hint(f"2 and 3 are 5, not {found}.")
'''
MISTAKES = '''"""Typical wrong answers of a small lab."""

from workshop.course.exercise_checks import Mistake

MISTAKES = {
    "total": [
        Mistake("multiplies", code="def total(one, other):\\n    return one * other\\n", hint="the product"),
        Mistake("subtracts", code="def total(one, other):\\n    return one - other\\n", hint="not -1"),
        Mistake("is empty", code="def total(one, other):\\n    ...  # your code\\n", hint="Nothing is there yet"),
    ]
}
'''


def small(labs: Path, name: str = "small", **files: str) -> Path:
    """A folder of labs with one lab in it, or one more; `files` replaces texts: notebook, lab, checks, mistakes."""
    folder = labs / name
    folder.mkdir(parents=True)
    texts = {"notebook": NOTEBOOK, "lab": LAB, "checks": CHECKS, "mistakes": MISTAKES, **files}
    names = {"notebook": "notebook.md", "lab": "lab.yaml", "checks": "checks.py", "mistakes": "mistakes.py"}
    for key, text in texts.items():
        (folder / names[key]).write_text(text, encoding="utf-8")
    (folder / "runsheet.md").write_text("# Run sheet\n", encoding="utf-8")
    (folder / "add.py").write_text("print(2 + 3)\n", encoding="utf-8")
    (folder / "quiz.yaml").write_text("deck: small\n", encoding="utf-8")
    return folder
