"""`workshop study run processor`: one processor to its limit, in seven steps."""

from __future__ import annotations

from workshop.study.command import guide_command

processor = guide_command(
    "workshop.workloads.processor.study.facts:GUIDE",
    """One processor to its limit. ResNet-50 runs with and without oneDNN, by threads, layout, precision and fusion.

    The dashboard's page Processor shows the same with questions to predict in each step.
    """,
)
