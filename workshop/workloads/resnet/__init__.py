"""Synthetic benchmark: the images per second that networks for ImageNet train on, with made-up images. This file only
describes it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED, Bucket, Compression, Exchange, Keep, check_compression, setting
from workshop.engine.training import METRICS
from workshop.extension import Extension, Params, Preset, Scaling, Workload

SMALLEST = {"resnet50": 32, "inception-v3": 75, "vgg16": 32, "mobilenet-v2": 32}  # pixels of a side, by Keras


class ResnetParams(Params):
    """The params of the benchmark: the network, its images, and the steps that are measured."""

    model: Literal["resnet50", "inception-v3", "vgg16", "mobilenet-v2"] = Field(
        "resnet50",
        description="network of Keras, without trained weights; a rank takes about 1.7 GB of memory with small images, "
        "with vgg16 3.5 GB at 224 pixels, and more with large batches",
    )
    batch: int = Field(4, ge=1, le=1024, description="images of each rank in a step; published rates are for 32 to 64")
    image_size: int = setting(
        64,
        "side of the square images, at least 75 for inception-v3; published rates are for 224 (299 for inception-v3)",
        {"unit": "pixels"},
        ge=32,
        le=512,
    )
    exchange: Exchange = "auto"
    warmup: int = Field(4, ge=2, le=1000, description="steps before the rounds; the first two compile")
    rounds: int = Field(5, ge=1, le=1000, description="rounds, each with a rate of its own")
    steps: int = Field(2, ge=1, le=1000, description="steps of a round")
    lines: Literal["horovod", "tf_cnn_benchmarks"] = Field(
        "horovod",
        description="whose lines are printed: Horovod's have a rate for each round; those of tf_cnn_benchmarks have "
        "images/s ± uncertainty, jitter and loss behind step 1 and behind each round",
    )
    compression: Compression = "none"
    keep: Keep = 0.01
    bucket: Bucket = 25
    seed: int = setting(0, "seed of weights and images", ADVANCED, ge=0, le=2**31 - 1)

    @model_validator(mode="after")
    def _fits_network(self) -> ResnetParams:
        smallest = SMALLEST[self.model]
        if self.image_size < smallest:
            raise ValueError(
                f"image_size is {self.image_size}, but {self.model} takes images of at least {smallest} pixels a side; "
                f"take {smallest} or more"
            )
        check_compression(self.exchange, self.compression)
        return self


WORKLOAD = Workload(
    name="resnet",
    title="Synthetic benchmark",
    summary="Measures how many made-up images per second ResNet-50, InceptionV3, VGG16 or MobileNetV2 trains on.",
    params=ResnetParams,
    function="workshop.workloads.resnet.run:run",
    trains=True,
    curves=("total images/s", "loss"),
    results=("rounds", "images_per_second", "bytes_per_step", "exchange"),
    metrics={
        **METRICS,
        "model": "network",
        "rounds.jitter_share": "jitter of the rounds, relative",
        "rounds.per_rank": "mean of the rounds per rank [images/s]",
        "rounds.per_rank_deviation": "± of the rounds per rank [images/s]",
        "rounds.total": "mean of the rounds, all ranks [images/s]",
        "rounds.total_deviation": "± of the rounds, all ranks [images/s]",
    },
    notes={"loss": "The loss on the same made-up images in every step: it only shows that the network learns."},
    scaling=Scaling(rate="images_per_second", unit="images/s", share="batch", live="total images/s"),
    order=250,
    lab="scaling",
    rules="workshop.workloads.resnet",
    panels="workshop.workloads.resnet.report:PANELS",
    presets=(
        Preset("Classroom", "ResNet-50 on two ranks, with the images/s of each.", {}, {"ranks": 2, "threads": 1}),
        Preset("One rank", "Two ranks divided by this rate are the speed-up.", {}, {"ranks": 1, "threads": 1}),
        Preset("MobileNetV2", "Its gradients have a seventh of the bytes of ResNet-50's.", {"model": "mobilenet-v2"},
               {"ranks": 2, "threads": 1}),
        Preset("VGG16", "Large gradients for little work: the exchange takes a larger share.",
               {"model": "vgg16", "image_size": 32, "batch": 1}, {"ranks": 2, "threads": 1}),
    ),
)  # fmt: skip

EXTENSION = Extension(workloads=(WORKLOAD,))
