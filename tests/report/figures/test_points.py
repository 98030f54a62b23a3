"""Points, and what all figures of points share."""

from __future__ import annotations

from workshop.report.figures.points import Point, as_axis, best, interval


def test_a_point_is_the_median_of_its_repeats() -> None:
    assert Point("a", (3.0, 1.0, 2.0)).value == 2.0
    assert Point("a").value is None


def test_the_best_is_the_first_of_equals_and_never_what_was_not_measured() -> None:
    points = [Point("a", state="failed"), Point("b", (5.0,)), Point("c", (9.0, 9.0)), Point("d", (9.0,))]
    assert best(points) == 2
    assert best(points[:1]) is None


def test_whiskers_reach_from_the_lowest_to_the_highest() -> None:
    whiskers = interval([Point("a", (1.0, 2.0, 4.0)), Point("b", (3.0,))], "#000000")
    assert (whiskers["array"], whiskers["arrayminus"]) == ([2.0, 0.0], [1.0, 0.0])
    assert whiskers["visible"]
    assert not interval([Point("b", (3.0,))], "#000000")["visible"]


def test_words_of_people_are_no_tags() -> None:
    failed = Point("<b>a</b>", state="failed", why="no <i>luck</i> & more")
    assert "&lt;b&gt;a" in failed.words("images/s")
    assert "&lt;i&gt;luck" in failed.words("images/s")
    assert "<i>" not in failed.words("images/s")


def test_what_a_pruned_one_had_reached_is_said() -> None:
    assert "pruned at 40 images/s" in Point("a", state="pruned", reached=40.0).words("images/s")


def test_axes_of_numbers_near_and_far_and_of_words() -> None:
    assert as_axis([1, 2, 4])["type"] == "linear"
    assert as_axis([1, 2, 16])["type"] == "log"
    assert as_axis([0, 2, 16])["type"] == "linear", "zero has no logarithm"
    assert as_axis(["a", 2])["type"] == "category"
    assert as_axis([True, False])["type"] == "category"
