"""Which version of QTI a file is written in. Only version 2 can be read; others are told apart from what is no QTI."""

from __future__ import annotations

import re

# The versions, by the element that a document begins with.
_ROOTS = {
    "questestinterop": "1.2",
    "assessmentItem": "2",
    "assessmentTest": "2",
    "assessmentSection": "2",
    "qti-assessment-item": "3",
    "qti-assessment-test": "3",
    "qti-assessment-section": "3",
}
_SKIPPED = re.compile(r"<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>|<\?.*?\?>|\s+", re.DOTALL)
_NAME = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)")
_HEAD = 20_000  # bytes in which a document's first element begins


def version_of(data: bytes) -> str:
    """The version in which an XML document is written: 1.2, 2 or 3; empty where it is no QTI."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    head = data[:_HEAD].decode(encoding, "replace")
    at = 0
    while skipped := _SKIPPED.match(head, at):
        at = skipped.end()
    found = _NAME.match(head, at)
    return _ROOTS.get(found[1], "") if found else ""


def recognises(data: bytes) -> bool:
    """Whether a file is a content package, or an XML document of any version of QTI."""
    return data.startswith(b"PK") or version_of(data) != ""


def refusal(version: str) -> str:
    """Why a version can't be read, as the end of a sentence."""
    by = ", the version of Canvas and of Common Cartridges" if version == "1.2" else ""
    return f"is written in QTI {version}{by}; export it as QTI 2.1, QTI 2.2 or Moodle XML, which can be read."
