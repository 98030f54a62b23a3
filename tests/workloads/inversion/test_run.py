"""The workload in a world of one, which is pytest's own process."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tests.workloads.inversion.attacked import run
from workshop.core.errors import BadInput
from workshop.workloads.inversion import run as workload


def test_one_image_is_recovered_and_drawn():
    metrics, sink = run({})
    (picture,) = metrics["pictures"]
    assert picture["likeness"] > 80 and picture["nearest"] and picture["correlation"] > 0.99 > picture["other"]
    assert (picture["label"], picture["read"], metrics["labels_right"], metrics["images"]) == (5, 5, 1, 1)
    media_type, data = sink.artifacts["recovered.png"]
    assert media_type == "image/png"
    drawn = np.asarray(Image.open(io.BytesIO(data)))
    true, recovered = drawn[6:90, 6:90], drawn[102:186, 6:90]
    assert true.max() > 200 and np.abs(true.astype(int) - recovered).mean() < 10
    again, _ = run({})
    assert {**again, "seconds": None} == {**metrics, "seconds": None}


def test_an_update_that_is_no_number_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(workload, "usable", lambda update: False)
    with pytest.raises(BadInput, match=r"^The update is no number any more at the rate 50; take a smaller rate\.$"):
        run({"rate": 50})
