"""Points, and what all figures of points share."""

from __future__ import annotations

from workshop.report.figures.marks import Point, as_axis


def test_words_of_people_are_no_tags() -> None:
    failed = Point("<b>a</b>", state="failed", why="no <i>luck</i> & more")
    assert "&lt;b&gt;a" in failed.words("images/s")
    assert "&lt;i&gt;luck" in failed.words("images/s")
    assert "<i>" not in failed.words("images/s")


def test_axes_of_numbers_near_and_far_and_of_words() -> None:
    assert as_axis([1, 2, 4])["type"] == "linear"
    assert as_axis([1, 2, 16])["type"] == "log"
    assert as_axis([0, 2, 16])["type"] == "linear", "zero has no logarithm"
    assert as_axis(["a", 2])["type"] == "category"
    assert as_axis([True, False])["type"] == "category"
