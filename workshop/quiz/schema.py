"""The JSON schema of a deck, with which editors complete and check YAML.

`labs/quiz.schema.json` contains it. A deck names that file in its first line:

    # yaml-language-server: $schema=../quiz.schema.json
"""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from workshop.core import config
from workshop.quiz import types
from workshop.quiz.deck import Deck

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE = "quiz.schema.json"


def schema() -> dict[str, Any]:
    """The schema of a deck. `reader` checks more than a schema can, for instance that one option is right."""
    question: Any = Annotated[reduce(or_, types.classes().values()), Field(discriminator="type")]
    model = create_model(
        "Deck", __base__=Deck, __doc__=Deck.__doc__, questions=(tuple[question, ...], Deck.model_fields["questions"])
    )
    return {"$schema": DIALECT, **model.model_json_schema(), "title": "A quiz's deck"}


def text() -> str:
    """The schema as it is written to a file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def shipped() -> Path:
    """The file that decks of the labs name."""
    return config.labs_folder() / FILE
