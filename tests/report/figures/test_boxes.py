"""Boxes lie inside their parents, and neighbours apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workshop.report.figures.machine import Box, arrange

leaves = st.builds(lambda width: Box("unit", width=width), st.floats(0.5, 4))
trees = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda kind, head, children: Box(kind, "title", children, head=head),
        st.sampled_from(["host", "package", "group", "core"]),
        st.sampled_from([0.0, 0.3]),
        st.lists(inner, min_size=1, max_size=9),
    ),
    max_leaves=40,
)


@given(trees, st.floats(0.5, 5))
def test_children_are_inside_and_apart(tree: Box, aspect: float) -> None:
    arrange(tree, aspect)
    for box in tree.everything():
        for child in box.children:
            assert box.x < child.x
            assert box.y + box.head < child.y
            assert child.x + child.width < box.x + box.width
            assert child.y + child.height < box.y + box.height
        for number, one in enumerate(box.children):
            for other in box.children[number + 1 :]:
                beside = one.x + one.width < other.x or other.x + other.width < one.x
                above = one.y + one.height < other.y or other.y + other.height < one.y
                assert beside or above
