"""A study goes on only where its runs compare with those it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.web import seed as class_seed
from workshop.core.errors import BadInput
from workshop.store.records import Trial
from workshop.store.store import Store
from workshop.study.runner import check_place

HOSTS = [{"name": "alpha", "slots": 2}, {"name": "beta", "slots": 2}]


def test_other_hosts_are_refused_before_anything_starts(workshop_home: Path) -> None:
    with Store.open() as store:
        here = class_seed.session(store)
        run = replace(store.submit(here.id, "kmeans", {}, {"ranks": 2}), status="completed")
    there = replace(here, name="far", placement={"ranks": 2, "hosts": HOSTS})
    beside = replace(there, placement={"hosts": [*HOSTS, {"name": "gamma", "slots": 1}]})
    far = replace(run, placement={"ranks": 2, "hosts": HOSTS})
    anywhere, named = Trial(1, "a", {}, {"ranks": 2}, 1), Trial(1, "a", {}, {"ranks": 2, "hosts": HOSTS}, 1)

    check_place(3, [anywhere], [], None)
    check_place(3, [anywhere], [], there)
    check_place(3, [anywhere], [run], here)
    check_place(3, [anywhere], [far, replace(run, status="cancelled")], there)
    check_place(3, [named], [far], beside)
    with pytest.raises(BadInput, match="Study 3 runs on alpha and beta, but a private session is on this machine"):
        check_place(3, [named], [], None)
    with pytest.raises(BadInput, match="Study 3 runs on this machine alone, but session far is on alpha and beta"):
        check_place(3, [anywhere], [run], there)
    with pytest.raises(BadInput, match="go on in a session on alpha and beta"):
        check_place(3, [anywhere], [far], beside)
