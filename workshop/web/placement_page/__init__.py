"""The page Placement: a placement is composed, predicted, said as commands and run, and reports of ranks are read."""

from __future__ import annotations

from pathlib import Path

from workshop.extension import Extension, Page

EXTENSION = Extension(
    pages=(
        Page(
            "placement",
            "Placement",
            "grid_view",
            "workshop.web.placement_page.page:page",
            order=100,
            summary="Where does an MPI put the ranks and threads of a command, and why?",
            picture=Path(__file__).parent / "placement.svg",
        ),
    )
)
