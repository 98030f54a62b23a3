"""XML that others have written: without declarations of entities, without addresses that are loaded, not too deep."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, SubElement

from workshop.core import xml_files
from workshop.core.errors import BadInput

DEEPEST = 60  # elements in each other


def parse(data: bytes, name: str) -> Element:
    """The root of a document; names of elements lose their namespaces. Raises BadInput with the file and the line."""
    try:
        root = xml_files.parse(data)
    except ParseError as error:
        line, column = error.position
        said = str(error).split(":", 1)[0]
        raise BadInput(f"{name}, line {line}, column {column + 1}: no XML ({said}).") from None
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
    """The elements of these names in another one, at any depth."""
    return (one for one in element.iter() if one.tag in tags)


def said(element: Element | None, path: str = "", otherwise: str = "") -> str:
    """The text at a path in an element, without spaces around."""
    found = element.find(path) if element is not None and path else element
    return otherwise if found is None else (found.text or "").strip()


def add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """A new last child."""
    made = SubElement(parent, tag, attributes)
    made.text = text
    return made
