"""XML that others have written: without declarations, without addresses that are loaded, and up to a number of
elements.

The parser refuses declarations. A search in the bytes would miss them in UTF-16.
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
    """The root of a document. With `named_type`, the document may name its type (`<!DOCTYPE svg PUBLIC ...>`), which
    isn't loaded. Declarations inside of the document are always refused.

    Raises TooManyElements, Declares, or the parser's errors: ParseError, other ValueErrors, LookupError.
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
