"""Runs under mpirun: the workload, and what TensorFlow Lite's files and interpreter say of the same network."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.heldout import as_inputs
from workshop.workloads.quantisation import ARTIFACT, WORKLOAD
from workshop.workloads.quantisation.formats import (
    CONVOLUTION,
    DENSE,
    ConvertedNetwork,
    convert,
    layer,
    overflow,
    ranges,
)

QUICK = {"data": "digits", "steps": 150, "images": 101, "batch": 8, "rounds": 2}
BATCH = 4


def run(comm):
    """All of the workload, whose ranks have shares of different sizes."""
    sink = Memory()
    metrics = WORKLOAD.load()(RankContext(comm, sink), WORKLOAD.check(QUICK))
    return {"metrics": metrics, "drawn": json.loads(sink.artifacts[ARTIFACT][1]) if comm.rank == 0 else None}


def library():
    """A network's first convolution in several formats as [channels][terms], and its first dense layer in INT8: the
    tensors of the arithmetic, with what the library made of them."""
    tensorflow().keras.utils.set_random_seed(1)
    model = models.build("cnn", {})
    model.layers[5].bias.assign(np.linspace(-0.1, 0.1, 128))  # of the first dense layer; without training it has none
    pixels = as_inputs(images.read({}).train_images[: 2 * BATCH])
    files = {name: convert(name, model, BATCH, pixels) for name in ("fp32", "bf16", "int8", "int8-tensor")}
    layers = {name: layer(ConvertedNetwork(file, inside=True), CONVOLUTION) for name, file in files.items()}
    network = ConvertedNetwork(files["int8"], inside=True)
    network(pixels[:BATCH])
    dense = layer(network, DENSE)
    operation = next(each for each in network.reader._get_ops_details() if each["op_name"] == DENSE)
    about = {each["index"]: each["quantization_parameters"] for each in network.reader.get_tensor_details()}
    made, bias = operation["outputs"][0], operation["inputs"][2]
    outside = ConvertedNetwork(files["fp32"])(pixels[:BATCH])
    return {
        "kernel": model.layers[0].kernel.numpy().reshape(-1, 32).T.tolist(),
        "weights": {name: tensors.weights.tolist() for name, tensors in layers.items()},
        "scales": {name: tensors.scales.tolist() for name, tensors in layers.items()},
        "ranges": ranges(files),
        "overflow": overflow(files["int8"], pixels[:BATCH]),
        "keras_difference": float(np.abs(outside - model(pixels[:BATCH]).numpy()).max()),
        "dense": {
            "inputs": dense.inputs.tolist(),
            "zero_point": dense.zero_point,
            "weights": dense.weights.tolist(),
            "scales": dense.scales.tolist(),
            "input_scale": float(about[operation["inputs"][0]]["scales"][0]),
            "bias": network.reader.get_tensor(bias).tolist(),
            "outputs": network.reader.get_tensor(made).tolist(),
            "output_scale": float(about[made]["scales"][0]),
            "output_zero_point": int(about[made]["zero_points"][0]),
        },
    }


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    result = run(world)
    if world.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps({"run": result, "library": library()}))
