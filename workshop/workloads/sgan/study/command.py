"""`workshop study run path`: the article's path, from a naive start to the machine's limit in nine steps."""

from __future__ import annotations

from workshop.study.command import guide_command

path = guide_command(
    "workshop.workloads.sgan.study.facts:GUIDE",
    """The article's path as a guided study of the S-GAN. Every step is planned from what those before it have found.

    On two cores the quick setting takes about 25 minutes; the command says beforehand how long it will probably take
    here. The dashboard's page Tuning shows the same with questions to predict in each step.
    """,
)
