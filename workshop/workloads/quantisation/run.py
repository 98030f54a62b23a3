"""The workload: ranks share the conversions, each evaluates its share of the images, and formats take turns."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.data import order, shard
from workshop.engine.tensorflow import seed_training
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data.images import read
from workshop.workloads.mnist.heldout import as_inputs
from workshop.workloads.quantisation import ARTIFACT, CHOICES, INSTRUCTIONS, MADE_UP, QuantisationParams
from workshop.workloads.quantisation import formats as quantisation_formats
from workshop.workloads.quantisation.formats import ConvertedNetwork, Pixels, batches, convert
from workshop.workloads.resnet.run import network as imagenet_network

SIDE = 64  # pixels of the images for ResNet-50
TRAINED_ON = 64  # images of a step of training
TURN = 0.1  # seconds of a format's turn in a round, at least
Networks = Mapping[str, ConvertedNetwork]  # by format


def run(ctx: RankContext, params: QuantisationParams) -> Mapping[str, Any]:
    """Convert, evaluate and time a network in all formats. Collective.

    Events: every rank's `time.*` of each round. Artifact: quantisation.json, what the figures are drawn of.
    """
    seconds: dict[str, float] = {}
    ctx.activity("training the network")
    with ctx.timed("train", seconds):
        model, calibration, images, labels, about = _task(ctx, params)
    own_images, names = images[slice(*shard(len(images), ctx.size, ctx.rank))], CHOICES[params.formats]
    ctx.activity("converting the network")
    with ctx.timed("convert", seconds):
        converted = {name: convert(name, model, params.batch, calibration) for name in names[ctx.rank :: ctx.size]}
        files = {name: file for part in ctx.comm.allgather(converted) for name, file in part.items()}
    networks = {name: ConvertedNetwork(files[name]) for name in names}
    ctx.activity("evaluating")
    with ctx.timed("evaluate", seconds):
        formats = _evaluate(ctx, networks, own_images, labels)
    first, _ = next(batches(own_images, params.batch))
    rates = _rates(ctx, params.rounds, networks, first)
    for name, row in formats.items():
        row["bytes"] = len(files["fp16" if name == "bf16" else name])  # BF16 and FP16 have as many bits
        row["images_per_second"] = statistics.median(rates[name])
    figures = {
        "ranges": quantisation_formats.ranges(files),
        "overflow": quantisation_formats.overflow(files["int8"], first),
    }
    if ctx.rank == 0:
        ctx.artifact(ARTIFACT, json.dumps(figures).encode(), "application/json")
    flags = ctx.comm.allgather(quantisation_formats.instructions())
    exact, int8 = formats["fp32"], formats["int8"]
    return about | {
        "parameters": int(model.count_params()),
        "calibration": len(calibration),
        "evaluated": len(images),
        "formats": formats,
        "fp32_accuracy": exact["accuracy"],
        "int8_accuracy": int8["accuracy"],
        "speed_up": int8["images_per_second"] / exact["images_per_second"],
        "overflow_share": figures["overflow"]["share"],
        "instructions": [name for name in INSTRUCTIONS if all(name in each for each in flags)],
        "stopped": len(rates["fp32"]) < params.rounds,
        "seconds": {name: round(value, 6) for name, value in seconds.items()},
    }


def _task(ctx: RankContext, params: QuantisationParams) -> tuple[Any, Pixels, Pixels, Any, dict[str, str]]:
    """The same model on all ranks, images for calibration, images to evaluate, their labels [n] (None where the network
    has learned nothing), and what model and images are called."""
    tf = seed_training(params.seed)
    if params.network == "digits":
        digits = read(ctx.inputs)
        model = models.build("cnn", {})
        if ctx.rank == 0:
            stream = np.random.default_rng(params.seed)
            picks = stream.integers(len(digits.train_labels), size=params.steps * TRAINED_ON)
            loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(models.optimizer_of("adam", models.RATES["adam"]), loss)
            pixels, digit_of = as_inputs(digits.train_images[picks]), digits.train_labels[picks]
            model.fit(pixels, digit_of, TRAINED_ON, verbose=0, shuffle=False)
        chosen = order(len(digits.train_labels), params.seed)[: params.calibration]
        calibration, images = as_inputs(digits.train_images[chosen]), as_inputs(digits.held_out_images[: params.images])
        labels, about = digits.held_out_labels[: params.images], {"model": "small CNN", "data": digits.words}
    else:
        model = imagenet_network("resnet50", SIDE)
        pixels = np.random.default_rng(params.seed).random((2 * MADE_UP, SIDE, SIDE, 3), np.float32)
        calibration, images, labels = pixels[: params.calibration], pixels[MADE_UP:][: params.images], None
        about = {"model": "ResNet-50, not trained", "data": f"made-up images of {SIDE} × {SIDE} pixels"}
    model.set_weights(ctx.comm.bcast(model.get_weights()))
    return model, calibration, images, labels, about


def _evaluate(ctx: RankContext, networks: Networks, images: Pixels, labels: Any) -> dict[str, dict[str, Any]]:
    """Each format's accuracy (None without labels), share of images that it puts into the same class as FP32, and mean
    and largest difference of an output from FP32's. Ranks evaluate their own images; all have the results."""
    rows: dict[str, dict[str, Any]] = {}
    exact = None
    for name, network in networks.items():
        parts = [network(some)[:new] for some, new in batches(images, network.batch)]
        outputs = np.concatenate(ctx.comm.allgather(np.concatenate(parts)))
        exact = outputs if exact is None else exact
        classes, differences = outputs.argmax(axis=1), np.abs(outputs - exact)
        rows[name] = {
            "accuracy": None if labels is None else float((classes == labels).mean()),
            "agreement": float((classes == exact.argmax(axis=1)).mean()),
            "mean_error": float(differences.mean()),
            "error": float(differences.max()),
        }
    return rows


def _rates(ctx: RankContext, rounds: int, networks: Networks, images: Pixels) -> dict[str, list[float]]:
    """Images per second of all ranks together, by format and round. The formats take turns in each round, so that
    whatever else the machine does falls on all of them. A turn is a whole number of batches."""
    calls, rates = {}, dict[str, list[float]]({name: [] for name in networks})
    for name, network in networks.items():
        began = time.perf_counter()
        network(images)
        calls[name] = math.ceil(TURN / (time.perf_counter() - began))
    for number in range(1, rounds + 1):
        ctx.activity(f"measuring round {number}")
        for name, network in networks.items():
            ctx.synchronise()
            began = time.perf_counter()
            with ctx.phase("compute"):
                for _ in range(calls[name]):
                    network(images)
            rate = len(images) * calls[name] / (time.perf_counter() - began)
            rates[name].append(sum(ctx.comm.allgather(rate)))
        ctx.end_step(number)
        ctx.progress(number, rounds)
        if ctx.stop_requested():
            break
    return rates
