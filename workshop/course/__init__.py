"""The course of notebooks: from one source for each lab to learners' notebooks, and the checks of their exercises.

`source` reads labs/<lab>/notebook.md, `description` reads lab.yaml, and `catalogue` puts all labs together. `notebook`
and `build` make notebooks from the sources and check their form. `copies` hands notebooks out to learners with the
files that they link to. `exercise_checks` judges what learners wrote, also on ranks; `simulated_ranks` stands in for
ranks where there are none. `trials` tries what learners wrote. `progress` says how far learners are, `class_progress`
how far a class is, and lets a learner begin again. `reading` has labs, glossary and dictionary for a browser.
`learner` says whose notebook it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from workshop.core import config
from workshop.extension import Decks, Extension, Lab


def _lab(folder: Path) -> Lab:
    """The lab in a folder; its order is the number in its lab.yaml. Every command imports this file, so there is no
    YAML parser here; `description` reads all of lab.yaml and says what is wrong with it."""
    try:
        number = re.search(r"^number: *(\d+)", (folder / "lab.yaml").read_text(), re.MULTILINE)
    except (OSError, UnicodeError):
        number = None
    return Lab(folder, int(number[1])) if number else Lab(folder)


EXTENSION = Extension(
    labs=tuple(_lab(notebook.parent) for notebook in sorted(config.labs_folder().glob("*/notebook.md"))),
    decks=(Decks(config.labs_folder()),),
)
