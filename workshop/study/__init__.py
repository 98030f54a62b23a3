"""Studies: runs that are compared with each other, planned, run one after the other and reported.

`kinds` says what a kind of study has to bring. `runner` submits what is missing and goes on where it stopped; it knows
no kind. `trial_monitor` waits for one run and may end it early. `place` refuses hosts on which runs would not compare.
`trials` has their order, `estimate` their time, `settings` their words on a command line. `results` compares cells, and
`effects` says which setting mattered. `report`, `cards`, `terminal` and `export` show a study, `command` has what its
commands share, and `references` are figures of others.

Each kind has a folder: `scaling`, `grid` (also sampled, also from a file) and `tune`. `guided` has what guided studies
have in common, which are sequences of grids; `workshop.workloads.sgan.study` is one. Other capabilities bring kinds of
their own, such as `workshop.workloads.federated.study`.
"""

from __future__ import annotations

from workshop.extension import Command, Extension, Study

_OWN_OPTIONS = {"context_settings": {"ignore_unknown_options": True, "allow_extra_args": True}}

EXTENSION = Extension(
    studies=(
        Study(
            name="scaling",
            kind="workshop.study.scaling.kind:KIND",
            cards="workshop.study.scaling.cards:cards",
            show="workshop.study.scaling.terminal:show",
            plan="workshop.study.scaling.notebook:plan",
        ),
        Study(
            name="grid",
            kind="workshop.study.grid.kind:KIND",
            cards="workshop.study.grid.cards:cards",
            show="workshop.study.grid.terminal:show_grid",
            plan="workshop.study.grid.notebook:plan",
        ),
        Study(
            name="tune",
            kind="workshop.study.tune.kind:KIND",
            cards="workshop.study.tune.cards:cards",
            show="workshop.study.tune.terminal:show_tune",
            elsewhere="`workshop tune`",
        ),
    ),
    commands=(
        Command("study run", "scaling", "workshop.study.scaling.command:scaling", _OWN_OPTIONS, order=500),
        Command("study run", "grid", "workshop.study.grid.command:grid", order=100),
        Command("study run", "file", "workshop.study.grid.command:file", order=200),
        Command("", "tune", "workshop.study.tune.command:tune"),
        Command("bench", "tune", "workshop.study.tune.bench_command:tune", order=300),
    ),
)
