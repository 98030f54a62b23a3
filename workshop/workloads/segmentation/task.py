"""The workload: the same rounds as with digits, of another task. The task has the institutions' patients, the network
that outlines their lesions, and an inspection of its outlines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.workloads.federated.run import learn
from workshop.workloads.federated.training.task import Inspection, LearningTask, See, Silo
from workshop.workloads.segmentation import CHANNELS, SegmentationParams, overlap, patients
from workshop.workloads.segmentation.overlays import Example, ScoredMask, sheet
from workshop.workloads.segmentation.patients import Patients, PatientSplit
from workshop.workloads.segmentation.unet import SUMMARY, unet

PICTURE, FIGURES = "overlays.png", "overlays.json"  # the artifacts
INSPECTED = 4  # patients to look at; one has no lesion, where there is such a patient
EVERY = 4  # rounds between two looks
DATA = "phantoms: made-up patients, drawn by this project's generator"
BYTES = 2  # of a pixel, as scanners store it
COLUMNS = {"federated": "federated", "centralised": "pooled", "alone": "institution 1 alone"}
AT_ONCE = 64  # images that are tested together: the activations of more take much memory


def run(ctx: RankContext, params: SegmentationParams) -> Mapping[str, Any]:
    """Learn from patients of several institutions, and return the metrics. Collective. Events and metrics are those of
    `federated`, with the measure "Dice": the mean over images. Artifacts: overlays.png and overlays.json."""
    return learn(ctx, params, segmentation)


def segmentation(ctx: RankContext, params: SegmentationParams, institutions: Sequence[int]) -> LearningTask:
    """The task of a run, with the images of these institutions."""
    channels, dealt = CHANNELS[params.modality], patients.dealt(params)
    tested = patients.held_out(params)
    net = unet(params.size, len(channels))
    return LearningTask(
        model=net,
        loss=overlap.loss_of(params.loss, params.alpha, params.beta),
        score=overlap.dice,
        measure="Dice",
        silos={institution: _silo(params, dealt, institution) for institution in institutions},
        held_out=(tested.images[..., channels], tested.masks),
        about=[
            {"images": len(train), "validation": len(validation)}
            for train, validation in zip(dealt.train, dealt.validation, strict=True)
        ],
        facts={"data": DATA, "model": SUMMARY},
        bytes_image=BYTES * params.size**2 * len(channels),
        at_once=AT_ONCE,
        look=_look(ctx, params, tested),
    )


def _silo(params: SegmentationParams, dealt: PatientSplit, institution: int) -> Silo:
    channels = CHANNELS[params.modality]
    parts: list[NDArray[np.float32]] = []
    for numbers in (dealt.train[institution], dealt.validation[institution]):
        scanned = patients.patients(params, institution, numbers)
        parts += [scanned.images[..., channels], scanned.masks]
    return Silo(*parts)


def _look(ctx: RankContext, params: SegmentationParams, tested: Patients) -> Inspection:
    """The models' results on some held-out patients as a picture and as numbers; at the end on all patients."""
    positions = chosen([len(person.lesions) for person in tested.people])
    images, masks = tested.images[..., CHANNELS[params.modality]], tested.masks
    about = [
        {"institution": at % params.institutions + 1, "lesions": len(tested.people[at].lesions)} for at in positions
    ]
    examples = [
        Example(tested.images[at, ..., 0], tested.images[at, ..., 1], masks[at, ..., 0] > 0, _words(patient))
        for at, patient in zip(positions, about, strict=True)
    ]

    def keep(number: int, see: See, last: bool) -> Mapping[str, Any]:
        answers = {}
        for way, logits in see(images[positions], masks[positions]).items():
            scores = overlap.dice(masks[positions], logits).numpy().tolist()
            answers[way] = [ScoredMask(mask[..., 0] > 0, score) for mask, score in zip(logits, scores, strict=True)]
        picture = sheet(examples, {COLUMNS[way]: masks_of_way for way, masks_of_way in answers.items()})
        table = [
            {**patient, "dice": {way: masks_of_way[at].dice for way, masks_of_way in answers.items()}}
            for at, patient in enumerate(about)
        ]
        ctx.artifact(PICTURE, picture, "image/png")
        ctx.artifact(FIGURES, json.dumps({"round": number, "patients": table}).encode(), "application/json")
        return _at_the_end(params, see(images, masks), masks) if last else {}

    return Inspection(EVERY, keep)


def _at_the_end(
    params: SegmentationParams, logits_by_way: Mapping[str, NDArray[np.float32]], masks: NDArray[np.float32]
) -> dict[str, Any]:
    """Metrics of all held-out patients from each way's logits: how well outlines overlap by Dice, Jaccard and
    Tversky, and the largest standard deviation that the Dice coefficients have in a way."""
    dice = {way: overlap.dice(masks, logits).numpy().astype(np.float64) for way, logits in logits_by_way.items()}
    return {
        "overlap": {
            way: {
                "dice": float(dice[way].mean()),
                "jaccard": float(overlap.jaccard(masks, logits).numpy().mean()),
                "tversky": float(overlap.tversky(masks, logits, params.alpha, params.beta).numpy().mean()),
            }
            for way, logits in logits_by_way.items()
        },
        "held_out_deviation": max(float(scores.std()) for scores in dice.values()),
    }


def chosen(lesions: Sequence[int]) -> list[int]:
    """Which of some patients, with so many lesions each, to look at: the first with any, and the first without."""
    without = [at for at, count in enumerate(lesions) if not count][:1]
    return [*[at for at, count in enumerate(lesions) if count][: INSPECTED - len(without)], *without]


def _words(about: Mapping[str, int]) -> str:
    lesions = about["lesions"]
    return f"{lesions or 'no'} lesion{'s' * (lesions != 1)}, scanner {about['institution']}"
