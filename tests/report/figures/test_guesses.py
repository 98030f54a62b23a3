"""The bars of a class's guesses."""

from __future__ import annotations

from workshop.report.figures.bars import guesses


def test_a_bar_for_each_answer() -> None:
    (bars,) = guesses([("1 <b>x</b> 2", 3), ("2 x 1", 0), ("4 x 1", 12)]).data
    assert list(bars.x) == [3, 0, 12] and list(bars.text) == ["<b>3</b>", "", "<b>12</b>"]
    figure = guesses([("1 <b>x</b> 2", 3)])
    assert figure.layout.yaxis.ticktext == ("1 &lt;b&gt;x&lt;/b&gt; 2",)


def test_nobody_has_guessed() -> None:
    assert guesses([]).data == () and guesses([("a", 0)]).layout.annotations[0].text == "Nobody has guessed"
