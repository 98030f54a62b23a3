"""Names are replaced wherever they stand, the same for the same, and texts stay readable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.store.anonymous import Names, hosts_in

NAMES = Names(
    people=["Instructor", "Zoë", "learner-2", "Ada Lovelace", "Ada", "photo"],
    hosts=["localhost", "gpu7.uni.example", "login1", "10.1.2.3"],
    terms=["photo"],
    folders=["/home/ada lovelace/work shop"],
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Zoë waits", "learner-1 waits"),
        ("Ada Lovelace's and Ada's", "learner-3's and learner-4's"),  # the longer name first
        ("Adam and ada", "Adam and ada"),
        ("learner-2 is who it is", "learner-2 is who it is"),
        ("Instructor", "Instructor"),
        ("a photo of photo", "a photo of photo"),  # a term of ours, whoever is called so
        ("rank 1 on gpu7.uni.example, on gpu7", "rank 1 on node-1, on node-1"),
        ("login1:2,localhost:2", "node-2:2,localhost:2"),
        ("tcp://10.1.2.3:80 and 192.168.7.11, not 127.0.0.1", "tcp://node-3:80 and an-address, not 127.0.0.1"),
        ("version 5.0.11 of 1.2.3.4.5", "version 5.0.11 of 1.2.3.4.5"),
        ('File "/opt/x/site-packages/numpy/core.py", line 3', 'File "site-packages/numpy/core.py", line 3'),
        ("/srv/a/workshop/engine/host.py", "workshop/engine/host.py"),
        ("can't read /home/ada/china.jpg.", "can't read china.jpg."),
        ("~ada/china.jpg or ~/x/china.jpg", "china.jpg or china.jpg"),
        ("in /home/ada lovelace/work shop/runs/x.py", "in workshop/runs/x.py"),
        ("http://gpu7.uni.example/quiz/3/results", "http://node-1/quiz/3/results"),
        ("<p>1/2 images/s, and/or/not</p>", "<p>1/2 images/s, and/or/not</p>"),
        ("LD_LIBRARY_PATH=/a/b:/c/d", "LD_LIBRARY_PATH=b:d"),
    ],
)
def test_texts_lose_names_and_places(text: str, wanted: str) -> None:
    assert NAMES.text(text) == wanted


def test_a_deck_keeps_what_it_says_of_paths() -> None:
    assert NAMES.text("see /proc/self/status, Zoë", paths=False) == "see /proc/self/status, learner-1"


def test_numbers_of_others_are_not_given_twice() -> None:
    names = Names(people=["learner-1", "Ada", "learner-2", "Zoë"])
    assert [names.person(name) for name in ("learner-1", "Ada", "learner-2", "Zoë")] == [
        "learner-1",
        "learner-3",
        "learner-2",
        "learner-4",
    ]
    assert names.person("somebody else") == "learner-5"


def test_hosts_are_found_where_they_are_kept() -> None:
    kept = {
        "machine": {"host": "a", "more": [{"host": "b"}]},
        "placement": {"hosts": [{"name": "c", "slots": 2}]},
        "rank_map": {"ranks": [{"rank": 0, "host": "d"}]},
        "site": {"hosts": ["e"], "address": "f"},
    }
    assert sorted(hosts_in(kept)) == list("abcdef")


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=2, max_size=12)


@given(people=st.lists(words, max_size=4), before=words, after=words)
def test_no_name_stays_as_a_word(people: list[str], before: str, after: str) -> None:
    names = Names(people)
    text = names.text(" | ".join([before, *people, after]), paths=False)
    assert Names(people).text(text, paths=False) == text  # nothing is found any more
    json.dumps(names.clean({before: people}))
