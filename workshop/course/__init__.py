"""The course of notebooks: from one source per lab to what learners get, and the checks of their exercises.

`source` reads labs/<lab>/notebook.md, `shape` says what a lab's notebook has to have, `describe` reads lab.yaml,
`build` makes notebooks, `course` puts all labs together, `copies` hands notebooks out, `checking` judges answers.
"""

from __future__ import annotations

from workshop.core import config
from workshop.extension import Decks, Extension, Lab

ORDER = ("first", "kmeans", "mnist", "placement", "sgan", "federated", "failures")

EXTENSION = Extension(
    labs=tuple(Lab(notebook.parent) for notebook in sorted(config.labs_folder().glob("*/notebook.md"))),
    decks=(Decks(config.labs_folder(), ORDER),),
)
