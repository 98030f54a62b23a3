"""Nodes: the article's path over emulated hosts, each step with predict, run, see, explain."""

from __future__ import annotations

from workshop.web.pages.guided_study import GuidedPage
from workshop.workloads.sgan.nodes.guide import GUIDE

page = GuidedPage(
    GUIDE,
    "nodes",
    "From one host to four over a slow link, and as many ranks as the memory of a host holds: predict what comes out, "
    "run it, see, explain. This machine emulates the hosts.",
)
