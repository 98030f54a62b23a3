"""Params that no run could take are refused in one sentence, before any rank is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.registry import workload, workloads

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("allreduce", {"smallest": 3}, "smallest is 3"),
    ("allreduce", {"smallest": 1024, "largest": 512}, "smallest is 1024, which is more than largest, 512"),
    ("allreduce", {"methods": "ring,tree"}, "there is no method 'tree'; there are ring, own, horovod"),
    ("allreduce", {"methods": ","}, "some of ring"),
    ("allreduce", {"operation": "bcast", "smallest": 2 << 20}, "which is more than largest, 1048576"),
    ("federated", {"alpha": 0}, "alpha is 0: it should be greater than 0"),
    ("federated", {"way": "together"}, "way is 'together'"),
    ("federated", {"rule": "trimmed", "trim": 2}, "that many largest and as many smallest of 4 updates leave none"),
    ("federated", {"attack": "scale", "attackers": 4}, "attackers is 4 of 4 institutions: at least one has to be"),
    ("federated", {"attack": "scale", "way": "alone"}, "Nobody sends updates where way is alone"),
    ("federated", {"privacy": "institutions", "way": "centralised"}, "updates where way is centralised"),
    ("federated", {"privacy": "institutions", "rule": "median"}, "with rule median that doesn't hold; take rule mean"),
    ("inversion", {"rate": 0}, "rate is 0: it should be greater than 0"),
    ("kmeans", {"data": "blobs", "points": 10, "clusters": 11}, "11 clusters need as many points; there are 10"),
    ("kmeans", {"mode": "online", "batch": 5, "clusters": 6}, "6 clusters need as many points in a batch; there are 5"),
    ("kmeans", {"colours": 3}, "colours is not one of its settings"),
    ("mnist", {"compression": "8bit", "exchange": "horovod"}, "compression is 8bit, but Horovod can only send float16"),
    ("mnist", {"compression": "8bit", "exchange": "none"}, "but the exchange none can't compress; choose mpi"),
    ("mnist", {"compression": "topk", "keep": 0}, "keep is 0"),
    ("one-processor", {"layout": "nchw", "onednn": False}, "for which TensorFlow has no kernels without oneDNN"),
    ("one-processor", {"warmup": 1}, "warmup is 1"),
    ("openfl", {"collaborators": 0}, "collaborators is 0: it should be at least 1"),
    ("openfl", {"fault": "dies", "collaborators": 1}, "take 2 collaborators and 3 rounds or more"),
    ("openfl", {"task": "segmentation", "partition": "label"}, "which deals digits; take iid or shift"),
    ("parallel", {"heads": 3, "width": 16}, "can't be divided into 3 heads"),
    ("parallel", {"schedule": "own"}, "needs instructions"),
    ("parallel", {"fault": "no-gather"}, "needs ZeRO 1 or 2"),
    ("parallel", {"layers": "a,b"}, "numbers with commas"),
    ("quantisation", {"network": "fp4"}, "network is 'fp4': it should be digits or resnet"),
    ("regression", {"rows": 10, "features": 10}, "take at least 11 rows, or a penalty above 0"),
    ("regression", {"mode": "streaming", "backend": "daal4py"}, "has no mode streaming"),
    ("segmentation", {"size": 48}, "size is 48"),
    ("sgan", {"size": 30}, "size is 30"),
    ("unet", {"size": 50}, "size is 50: it should be a multiple of 8"),
    ("unet", {"dropout": "0,0.1,0.2"}, "the network has 4 levels; give one rate for all or 4, separated by commas"),
    ("unet", {"dropout": "much"}, "dropout is 'much', but the network has 4 levels"),
]
TOO_FEW: list[tuple[str, dict[str, Any], int, str]] = [
    ("federated", {"images": 9, "institutions": 5}, 2, "5 institutions can't share 9 images"),
    ("quantisation", {"images": 1}, 2, "2 ranks share 1 images, but each needs one"),
    ("segmentation", {"institutions": 7, "patients": 13}, 2, "7 institutions can't share 13 patients: each needs 2"),
    ("sgan", {"batch": 700}, 2, "of the 1337 unlabelled images a rank's share is only 668; take a smaller batch"),
    ("sgan", {"labels": 200}, 1, "but there are only 139 images of the digit 8; take at most 139."),
    ("unet", {"patients": 6, "batch": 4}, 2, "batch is 4, but of the 6 examples a rank's share is only 3"),
    ("unet", {"patients": 2, "batch": 1}, 3, "3 ranks can't share 2 examples"),
]


@pytest.mark.parametrize(("name", "values", "words"), WRONG)
def test_params_that_cannot_be(name: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        workload(name).check(values)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "values", "ranks", "words"), TOO_FEW)
def test_what_there_is_too_little_of_for_the_ranks(name: str, values: dict[str, Any], ranks: int, words: str) -> None:
    chosen = workload(name)
    params = chosen.check(values | ({"data": "digits"} if "data" in chosen.params.model_fields else {}))
    with pytest.raises(BadInput) as refused:
        chosen.fits(params, chosen.inputs(params, no_artifacts) if chosen.inputs else {}, ranks)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", workloads())
def test_an_unknown_param_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="nonsense is not one of its settings"):
        workload(name).check({"nonsense": 1})


@pytest.mark.parametrize(
    ("name", "values", "ranks", "words"),
    [
        ("inversion", {"images": 5}, 1, "There are only 4 images to train on, and images is 5; take fewer."),
        ("sgan", {"labels": 1, "batch": 1}, 1, "there are only 0 images of the digit 3"),
    ],
)
def test_digits_that_the_data_lack(tmp_path: Path, name: str, values: dict[str, Any], ranks: int, words: str) -> None:
    pictures, labels = np.zeros((4, 28, 28), np.uint8), np.array([0, 1, 2, 2])
    np.savez(tmp_path / "own.npz", x_train=pictures, y_train=labels, x_test=pictures, y_test=labels)
    chosen = workload(name)
    params = chosen.check({"data": str(tmp_path / "own.npz"), **values})
    with pytest.raises(BadInput) as refused:
        chosen.fits(params, chosen.inputs(params, no_artifacts), ranks)
    assert words in str(refused.value)
