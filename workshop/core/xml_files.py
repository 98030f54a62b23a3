"""XML that others have written, whatever its encoding: without declarations of their own, without addresses that are
loaded, with no more elements than a file of its kind has.

Declarations are refused where the parser meets them, and not looked for in bytes: there, UTF-16 would hide them.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder

from defusedxml.common import DefusedXmlException, DTDForbidden
from defusedxml.ElementTree import DefusedXMLParser

MOST_ELEMENTS = 200_000  # of one file; each takes up to 500 bytes of memory


class TooManyElements(ValueError):
    """A file has more elements than are read."""


class Declares(ValueError):
    """A file declares a document type, entities or attributes of its own."""


def parse(data: bytes, *, named_type: bool = False) -> Element:
    """The root of a document. `named_type`: the document may name its type (`<!DOCTYPE svg PUBLIC ...>`), which is not
    loaded; declarations inside of the document are refused in any case.

    Raises TooMany, Declares, or what the parser raises: ParseError, other ValueErrors, LookupError.
    """
    if (elements := data.count(b"<")) > 2 * MOST_ELEMENTS:  # a beginning and an end each, in any encoding
        raise TooManyElements(f"it has about {elements // 2:,} elements; at most {MOST_ELEMENTS:,} are read")
    parser = _Parser(named_type)
    try:
        parser.feed(data)
        return parser.close()
    except DefusedXmlException:
        raise Declares("it declares a document type or entities, which are not read") from None


class _Parser(DefusedXMLParser):
    def __init__(self, named_type: bool) -> None:
        super().__init__(target=TreeBuilder(), forbid_dtd=True)
        self._named_type = named_type

    def defused_start_doctype_decl(
        self, name: str, sysid: str | None, pubid: str | None, has_internal_subset: bool
    ) -> None:
        if not self._named_type or has_internal_subset:
            raise DTDForbidden(name, sysid, pubid)
