"""Processor: the guided study in seven steps, each with predict, run, see, explain."""

from __future__ import annotations

from workshop.web.pages import frame
from workshop.web.pages.guided_study import GuidedPage
from workshop.workloads.processor.study.guide import GUIDE

page = GuidedPage(
    GUIDE,
    "processor",
    "One rank and every switch that TensorFlow has for a processor: predict what comes out, run it, see, explain. "
    f"After *{frame.plain(GUIDE.source)}*, on this machine.",
)
