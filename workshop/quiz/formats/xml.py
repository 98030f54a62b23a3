"""Parses XML from other people: entities are refused, nothing is loaded, and the depth is limited."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, SubElement

from workshop.core import xml_files
from workshop.core.errors import BadInput

DEEPEST = 60  # levels of nested elements


def parse(data: bytes, name: str) -> Element:
    """The root of a document, without namespaces in names of elements. Raises BadInput with the file and the line."""
    try:
        root = xml_files.parse(data)
    except ParseError as error:
        line, column = error.position
        reason = str(error).split(":", 1)[0]
        raise BadInput(f"{name}, line {line}, column {column + 1}: no XML ({reason}).") from None
    except xml_files.Declares:
        raise BadInput(f"{name} declares a document type or entities, which are not read; take them out.") from None
    except (ValueError, LookupError) as error:
        raise BadInput(f"{name} is no XML ({' '.join(str(error).split())[:100]}).") from None
    level = [root]
    for _ in range(DEEPEST):
        for element in level:
            if isinstance(element.tag, str):
                element.tag = element.tag.rsplit("}", 1)[-1]
        level = [child for element in level for child in element]
        if not level:
            return root
    raise BadInput(f"{name} has more than {DEEPEST} elements in each other.")


def all_of(element: Element, *tags: str) -> Iterator[Element]:
    """The descendants of an element with these names."""
    return (descendant for descendant in element.iter() if descendant.tag in tags)


def text_at(element: Element | None, path: str = "", otherwise: str = "") -> str:
    """The text at a path in an element, without surrounding spaces."""
    target = element.find(path) if element is not None and path else element
    return otherwise if target is None else (target.text or "").strip()


def add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """Append a new child."""
    element = SubElement(parent, tag, attributes)
    element.text = text
    return element
