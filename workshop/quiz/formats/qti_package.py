"""QTI's content packages: which items there are, in which order, and what is said of them outside of the items; and
the versions of QTI. Only version 2 can be read; others are told apart from what is no QTI."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from workshop.core import archives
from workshop.core.errors import BadInput
from workshop.quiz.formats import xml

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


MOST_ENTRIES = 2000
LARGEST = 30 * 1024 * 1024  # bytes of all entries, unpacked


@dataclass
class PackageItem:
    """An item, and what test and manifest say of it."""

    path: str
    root: Element
    points: str = ""
    seconds: str = ""
    tags: list[str] = field(default_factory=list)


@dataclass
class ContentPackage:
    files: dict[str, bytes]
    items: list[PackageItem]
    missing: list[str] = field(default_factory=list)
    test: Element | None = None


def unpacked(data: bytes, name: str) -> ContentPackage:
    """The items of a package. Raises BadInput where it is none, or is one that shouldn't be unpacked."""
    files = _files(data, name)
    manifest_path = next((path for path in sorted(files, key=len) if path.endswith("imsmanifest.xml")), None)
    if manifest_path is None:
        raise BadInput(f"{name} has no imsmanifest.xml, which a QTI package should have.")
    manifest = xml.parse(files[manifest_path], f"{name}, {manifest_path}")
    resources = {at(manifest_path, one.get("href", "")): one for one in xml.all_of(manifest, "resource")}
    tests = [path for path, one in resources.items() if "imsqti_test" in one.get("type", "") and path in files]
    package = ContentPackage(files, [])
    refs: list[tuple[str, Element | None]] = []
    if tests:
        package.test = xml.parse(files[tests[0]], f"{name}, {tests[0]}")
        refs = [(at(tests[0], one.get("href", "")), one) for one in xml.all_of(package.test, "assessmentItemRef")]
    else:
        refs = [(path, None) for path, one in resources.items() if "imsqti_item" in one.get("type", "")]
    if not any(path in files and version_of(files[path]) == "2" for path, _ in refs):
        raise BadInput(f"{name} {_without_items(files)}")
    for path, ref in refs:
        if path not in files:
            package.missing.append(path)
            continue
        item = PackageItem(path, xml.parse(files[path], f"{name}, {path}"))
        if ref is not None:
            limit, weight = ref.find("timeLimits"), ref.find("weight")
            item.seconds = limit.get("maxTime", "") if limit is not None else ""
            item.points = weight.get("value", "") if weight is not None else ""
        if path in resources:
            keywords = (key for key in xml.all_of(resources[path], "keyword"))
            item.tags = [xml.said(word) for key in keywords for word in xml.all_of(key, "string", "langstring")]
        package.items.append(item)
    return package


def _without_items(files: dict[str, bytes]) -> str:
    """Why a package has no items that could be read, as the end of a sentence."""
    versions = sorted({version_of(data) for data in files.values()} - {""})
    if not versions:
        return "holds no QTI; a QTI package has items, and a manifest that names them."
    if "2" in versions:
        return "has no item that its manifest or its test names; each item should be named there."
    return refusal(versions[0])


def at(beside: str, href: str) -> str:
    """The path of what a file names relative to itself."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(beside), unquote(href)))


def _files(data: bytes, name: str) -> dict[str, bytes]:
    try:
        with archives.opened(data, MOST_ENTRIES) as archive:
            entries = [one for one in archive.infolist() if not one.is_dir()]
            for one in entries:
                parts = one.filename.replace("\\", "/").split("/")
                if ".." in parts or parts[0] == "" or ":" in parts[0]:
                    raise BadInput(f"{name} has a file that lies outside of it ({one.filename[:60]!r}); take it out.")
            files, left = {}, LARGEST
            for one in entries:
                files[one.filename] = archives.read(archive, one.filename, left)
                left -= len(files[one.filename])
            return files
    except BadInput:
        raise
    except archives.TooLarge as error:
        raise BadInput(
            f"{name} is too large: {error}; a package has at most {MOST_ENTRIES} files, and {LARGEST // 1024**2} MB "
            "when unpacked."
        ) from None
    except Exception as error:  # zipfile passes on what every decompressor has of its own for broken data
        why = " ".join(str(error).split())[:100] or type(error).__name__
        raise BadInput(f"{name} is no package that can be unpacked ({why}).") from None
