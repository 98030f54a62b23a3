"""The workspace that OpenFL reads, and the files beside it."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.openfl import WORKLOAD, workspace
from workshop.workloads.segmentation.unet import unet

VALUES = {"rounds": 7, "epochs": 3, "batch": 16, "rate": 0.05, "model": "dense", "seed": 11}
PORT = 50_099


def plan(**values):
    return workspace.plan(WORKLOAD.check(VALUES | values), PORT)


def test_a_plan_is_the_lab_s_with_the_run_s_values():
    found, lab = plan(), yaml.safe_load((workspace.template() / "plan" / "plan.yaml").read_text())
    assert found["aggregator"]["settings"]["rounds_to_train"] == 8, "one more, in which the last model is tested"
    assert found["data_loader"]["settings"] == {"batch_size": 16, "seed": 11}
    assert found["task_runner"]["settings"] == lab["task_runner"]["settings"] | {
        "network": "dense",
        "rate": 0.05,
        "seed": 11,
    }
    assert found["tasks"]["train"]["kwargs"] == {"batch_size": 16, "epochs": 3, "metrics": ["loss", "accuracy"]}
    assert found["network"]["settings"]["agg_port"] == 50_099
    assert found["straggler_handling_policy"]["template"].endswith("WaitForAllPolicy")
    assert set(found) == set(lab)


def test_both_sides_show_certificates_and_both_write_metrics():
    found = plan()
    assert found["network"]["settings"]["use_tls"] is True
    assert found["network"]["settings"]["require_client_auth"] is True
    assert found["network"]["settings"]["agg_addr"] == "localhost"
    assert found["aggregator"]["settings"]["write_logs"] is True
    assert found["collaborator"]["settings"]["write_logs"] is True


def test_what_a_fault_needs_is_in_the_plan():
    policy = plan(fault="dies")["straggler_handling_policy"]
    assert policy["template"].endswith("CutoffTimePolicy")
    assert policy["settings"] == {"straggler_cutoff_time": workspace.PATIENCE, "minimum_reporting": 2}


def test_a_workspace_is_complete_and_private_where_it_has_to_be(tmp_path):
    folder = tmp_path / "federation"
    workspace.write_workspace(folder, plan(), b"weights", "")
    assert yaml.safe_load((folder / "plan" / "plan.yaml").read_text()) == plan()
    assert (folder / ".workspace").read_text() == "current_plan_name: default\n"
    assert (folder / "save" / "initial.npz").read_bytes() == b"weights"
    assert "openfl==1.9" in (folder / "requirements.txt").read_text()
    assert {path.name for path in (folder / "src").iterdir()} >= {"network.py", "dataloader.py", "taskrunner.py"}
    assert (folder / "cert").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("model", "count"), [("cnn", 8), ("dense", 4)])
def test_weights_travel_by_name(model, count):
    weights = [SimpleNamespace(numpy=lambda number=number: np.full(2, number, np.float32)) for number in range(count)]
    params = WORKLOAD.check({"model": model})
    stored = workspace.weights(params, SimpleNamespace(weights=weights))
    with np.load(io.BytesIO(stored), allow_pickle=False) as file:
        assert file.files == workspace.names(params, None)
        assert [float(file[name][0]) for name in file.files] == list(range(count))


def test_a_plan_for_lesions_names_the_u_net_and_its_images():
    params = WORKLOAD.check({"task": "segmentation", "seed": 4})
    plan = workspace.plan(params, PORT)
    assert plan["data_loader"]["settings"] == {"batch_size": 4, "seed": 4, "shape": [64, 64, 2], "classes": 1}
    assert plan["task_runner"]["template"] == "src.segmentation.Lesions"
    assert plan["task_runner"]["settings"]["rate"] == 0.002
    metrics = {name: task["kwargs"]["metrics"] for name, task in plan["tasks"].items()}
    assert metrics.pop("train") == ["loss", "dice"] and set(map(tuple, metrics.values())) == {("dice",)}


def test_the_u_net_travels_as_json_and_its_weights_by_name(tmp_path):
    keras = tensorflow().keras
    network = unet(32, 2)
    names = workspace.names(WORKLOAD.check({"task": "segmentation"}), network)
    assert len(set(names)) == len(names) == len(network.weights)
    workspace.write_workspace(tmp_path / "federation", plan(), b"weights", network.to_json())
    copy = keras.models.model_from_json((tmp_path / "federation" / "src" / "unet.json").read_text())
    assert workspace.names(WORKLOAD.check({"task": "segmentation"}), copy) == names
    copy.set_weights(network.get_weights())
    images = np.random.default_rng(0).random((1, 32, 32, 2), np.float32)
    np.testing.assert_array_equal(copy(images), network(images))
