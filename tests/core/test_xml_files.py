"""XML of others: declarations are refused in every encoding, and a file with too many elements before it is read."""

from __future__ import annotations

import pytest

from workshop.core import xml_files

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be")
DECLARATIONS = (
    '<!DOCTYPE a [<!ENTITY b "c">]>',
    '<!DOCTYPE a [<!ATTLIST a b CDATA "c">]>',
    '<!DOCTYPE a SYSTEM "http://example.org/a.dtd" [<!ENTITY b "c">]>',
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("named_type", [False, True])
@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_declarations_are_refused_in_every_encoding(encoding: str, named_type: bool, declaration: str) -> None:
    with pytest.raises(xml_files.Declares):
        xml_files.parse(f"{declaration}<a/>".encode(encoding), named_type=named_type)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_named_type_is_taken_where_it_may_be_and_is_not_loaded(encoding: str) -> None:
    text = '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a><b/></a>'.encode(encoding)
    assert [child.tag for child in xml_files.parse(text, named_type=True)] == ["b"]
    with pytest.raises(xml_files.Declares):
        xml_files.parse(text)


def test_too_many_elements_are_refused_before_they_are_made() -> None:
    with pytest.raises(xml_files.TooManyElements):
        xml_files.parse(b"<a/>" * (2 * xml_files.MOST_ELEMENTS + 1))
