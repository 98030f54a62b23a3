"""Studies: runs that are planned, run one after the other, compared and reported.

`kinds` defines what a kind of study provides, reports and asks for on a page, and estimates the time of its trials.
`trials` has plans and orders their trials. `runner` submits the missing trials of any kind, resumes an interrupted
study, refuses hosts on which runs would not compare, and may end a run early. `results` compares cells and finds the
settings that mattered. `cards`, `terminal` and `export` show a study, and `command` has the commands.

Each kind has a folder: `grid` (also sampled, also from a file), `scaling` (a grid over ranks) and `tune`. `guided` has
the common code of guided studies, which are sequences of grids; `workshop.workloads.sgan.study` is one. Other
capabilities bring their own kinds, such as `workshop.workloads.federated.study`.
"""

from __future__ import annotations

from pathlib import Path

from workshop.extension import Command, Extension, Page, Study

_OWN_OPTIONS = {"context_settings": {"ignore_unknown_options": True, "allow_extra_args": True}}

EXTENSION = Extension(
    studies=(
        Study(
            "scaling",
            "workshop.study.scaling.kind:KIND",
            "workshop.study.notebook:scaling",
            form="workshop.study.scaling.plan:FORM",
            page="studies",
        ),
        Study(
            "grid",
            "workshop.study.grid.kind:KIND",
            "workshop.study.notebook:grid",
            form="workshop.study.grid.plan:FORM",
            page="studies",
        ),
        Study("tune", "workshop.study.tune.kind:KIND", form="workshop.study.tune.plan:FORM", page="tuning"),
    ),
    pages=(
        Page(
            "studies",
            "Studies",
            "lab_research",
            "workshop.web.pages.studies:page",
            order=200,
            summary="A study runs a workload several times, on more ranks or with other settings, and compares them.",
            picture=Path(__file__).parent / "studies.svg",
        ),
    ),
    commands=(
        Command("study run", "scaling", "workshop.study.command:scaling", _OWN_OPTIONS, order=500),
        Command("study run", "grid", "workshop.study.command:grid", order=100),
        Command("study run", "file", "workshop.study.command:file", order=200),
        Command("", "tune", "workshop.study.command:tune"),
    ),
)
