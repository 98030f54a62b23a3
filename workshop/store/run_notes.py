"""Notes on runs in the store's settings: one by whoever submitted the run, one by the instructor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from workshop.store.store import Store

Author = Literal["submitter", "instructor"]


def notes(store: Store, run_id: int) -> Mapping[Author, str]:
    """The notes on a run by their authors, without empty ones."""
    texts = {author: store.setting(_key(run_id, author)) for author in get_args(Author)}
    return {author: text for author, text in texts.items() if text}


def keep_note(store: Store, run_id: int, author: Author, text: str) -> None:
    """Store a note in place of the author's earlier one."""
    store.set_setting(_key(run_id, author), text)


def _key(run_id: int, author: Author) -> str:
    return f"run_note/{run_id}/{author}"
