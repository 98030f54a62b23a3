"""Connections that wait give way, the oldest of the largest group first."""

from __future__ import annotations

from dataclasses import dataclass

from workshop.server.limits import Waiting


@dataclass(eq=False)
class Line:
    gone: bool = False

    def give_way(self) -> None:
        self.gone = True


def test_the_oldest_of_the_largest_group_gives_way() -> None:
    waiting, strangers, ada = Waiting(4), [Line() for _ in range(4)], Line()
    waiting.begin(ada, "ada")
    for line in strangers:
        waiting.begin(line, "strangers")
    assert [line.gone for line in (ada, *strangers)] == [False, True, False, False, False]
    waiting.begin(strangers[1], "strangers")  # it has asked something since
    waiting.push_out("strangers")
    assert [line.gone for line in strangers] == [True, False, True, False]
    for line in (ada, *strangers):
        waiting.end(line)
    assert not waiting._groups and not waiting._group_of
    waiting.push_out("strangers")


def test_a_person_has_only_so_many() -> None:
    waiting, lines = Waiting(100), [Line() for _ in range(3)]
    for line in lines:
        waiting.begin(line, "ada", 2)
    assert [line.gone for line in lines] == [True, False, False]
