"""Scaling: what a measured curve says of more workers. This file only describes the capability.

`curve` reads curves from files, `model` is the step time on n workers, and `fit` finds what a curve says of the model's
parameters and predicts rates with intervals.
"""

from __future__ import annotations

from workshop.extension import Command, Extension

EXTENSION = Extension(commands=(Command("", "scale", "workshop.workloads.scale.command:app", order=600),))
