"""Tuning: the article's path in nine steps, each with predict, run, see, explain."""

from __future__ import annotations

from workshop.web.pages import frame
from workshop.web.pages.guided_study import GuidedPage
from workshop.workloads.sgan.study.guide import GUIDE

page = GuidedPage(
    GUIDE,
    "tuning",
    "From a naive start to the machine's limit, one step after the other: predict what comes out, run it, see, "
    f"explain. After *{frame.plain(GUIDE.source)}*, on this machine.",
    offered=("data", "size"),
    lab="The lab text and a script that does without this platform are in the folder `labs/sgan`.",
)
