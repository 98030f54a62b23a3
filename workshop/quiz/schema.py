"""What a deck may hold, as a JSON schema, by which editors complete and check YAML.

`labs/quiz.schema.json` is made of it. A deck names it in its first line:

    # yaml-language-server: $schema=../quiz.schema.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workshop.core import config
from workshop.quiz.deck import Deck

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE = "quiz.schema.json"


def schema() -> dict[str, Any]:
    """The schema of a deck. `reader` checks what a schema can't say: that one option is right, that names are known."""
    made = Deck.model_json_schema()
    return {"$schema": DIALECT, **made, "title": "A quiz's deck"}


def text() -> str:
    """The schema as it is written to a file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def shipped() -> Path:
    """The file that decks of the labs name."""
    return config.labs_folder() / FILE
