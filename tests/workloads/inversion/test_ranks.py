"""Attacks on two real ranks."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from tests.ranks import run_ranks

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]


def test_every_rank_attacks_a_digit_of_its_own_and_all_know_the_results():
    found = run_ranks("tests.workloads.inversion.ranks_program", 2, seconds=280)
    first, second = ({**metrics, "seconds": None} for metrics in found["metrics"])
    assert first == second
    assert [(picture["rank"], picture["label"]) for picture in first["pictures"]][::2] == [(0, 5), (1, 6)]
    kept, others = found["artifacts"]
    assert others == {} and Image.open(io.BytesIO(base64.b64decode(kept["recovered.png"]))).size[0] > 4 * 84
