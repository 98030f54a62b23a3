"""Guesses: what people predict before they see, each person's latest about each thing."""

from __future__ import annotations

from workshop.store.store import Store


def test_the_latest_of_everybody_about_everything(store: Store) -> None:
    ada = store.add_identity("learner", "ada <b>", "hash of ada's token")
    bob = store.add_identity("learner", "bob", "hash of bob's token")
    assert store.guess(ada.id, "study/12/b") is None and store.guesses("study/12/b") == []
    store.keep_guess(ada.id, "study/12/b", {"threads": 4})
    first = store.guess(ada.id, "study/12/b")
    assert (first.about, first.identity_id, first.nickname, first.value) == (
        "study/12/b",
        ada.id,
        "ada <b>",
        {"threads": 4},
    )
    store.keep_guess(bob.id, "study/12/b", 2)
    store.keep_guess(None, "study/12/b", "nobody's")
    store.keep_guess(ada.id, "study/12/c", 1.5)
    store.keep_guess(ada.id, "study/12/b", {"threads": 1})
    again = store.guess(ada.id, "study/12/b")
    assert again.created_at >= first.created_at
    kept = store.guesses("study/12/b")
    assert sorted((guess.nickname, str(guess.value)) for guess in kept) == [
        ("", "nobody's"),
        ("ada <b>", "{'threads': 1}"),
        ("bob", "2"),
    ]
    found = store.guess(ada.id, "study/12/b")
    assert found == again and found is not None and found.value == {"threads": 1}
    nobodys = store.guess(None, "study/12/b")
    assert nobodys is not None and nobodys.identity_id is None
    assert store.guess(bob.id, "study/12/c") is None
    assert [guess.value for guess in store.guesses("study/12/c")] == [1.5]
