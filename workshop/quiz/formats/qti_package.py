"""Reads QTI's content packages: the items in their order, and their metadata from the test and the manifest. It also
recognises the versions of QTI; only version 2 can be read."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from workshop.core import archives
from workshop.core.errors import BadInput
from workshop.quiz.formats import xml

# The versions, by the first element of a document.
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
_HEAD = 20_000  # bytes in which we look for a document's first element


def version_of(data: bytes) -> str:
    """The version of a QTI document: 1.2, 2 or 3; empty for other documents."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    head = data[:_HEAD].decode(encoding, "replace")
    at = 0
    while skipped := _SKIPPED.match(head, at):
        at = skipped.end()
    match = _NAME.match(head, at)
    return _ROOTS.get(match[1], "") if match else ""


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
    """An item, and its metadata from the test and the manifest."""

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
    """Unpack the items of a package. Raises BadInput if it is no QTI package, or is unsafe to unpack."""
    files = _files(data, name)
    manifest_path = next((path for path in sorted(files, key=len) if path.endswith("imsmanifest.xml")), None)
    if manifest_path is None:
        raise BadInput(f"{name} has no imsmanifest.xml, which a QTI package should have.")
    manifest = xml.parse(files[manifest_path], f"{name}, {manifest_path}")
    resources = {at(manifest_path, resource.get("href", "")): resource for resource in xml.all_of(manifest, "resource")}
    tests = [
        path for path, resource in resources.items() if "imsqti_test" in resource.get("type", "") and path in files
    ]
    package = ContentPackage(files, [])
    refs: list[tuple[str, Element | None]] = []
    if tests:
        package.test = xml.parse(files[tests[0]], f"{name}, {tests[0]}")
        refs = [
            (at(tests[0], reference.get("href", "")), reference)
            for reference in xml.all_of(package.test, "assessmentItemRef")
        ]
    else:
        refs = [(path, None) for path, resource in resources.items() if "imsqti_item" in resource.get("type", "")]
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
            item.tags = [xml.text_at(word) for key in keywords for word in xml.all_of(key, "string", "langstring")]
        package.items.append(item)
    return package


def _without_items(files: dict[str, bytes]) -> str:
    """Why no item of a package can be read, as the end of a sentence."""
    versions = sorted({version_of(data) for data in files.values()} - {""})
    if not versions:
        return "holds no QTI; a QTI package has items, and a manifest that names them."
    if "2" in versions:
        return "has no item that its manifest or its test names; each item should be named there."
    return refusal(versions[0])


def at(beside: str, href: str) -> str:
    """The path of `href`, which is relative to the file `beside`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(beside), unquote(href)))


def _files(data: bytes, name: str) -> dict[str, bytes]:
    try:
        with archives.opened(data, MOST_ENTRIES) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            for entry in entries:
                parts = entry.filename.replace("\\", "/").split("/")
                if ".." in parts or parts[0] == "" or ":" in parts[0]:
                    raise BadInput(f"{name} has a file that lies outside of it ({entry.filename[:60]!r}); take it out.")
            files, remaining = {}, LARGEST
            for entry in entries:
                files[entry.filename] = archives.read(archive, entry.filename, remaining)
                remaining -= len(files[entry.filename])
            return files
    except BadInput:
        raise
    except archives.TooLarge as error:
        raise BadInput(
            f"{name} is too large: {error}; a package has at most {MOST_ENTRIES} files, and {LARGEST // 1024**2} MB "
            "when unpacked."
        ) from None
    except Exception as error:  # for broken data, each decompressor raises its own errors
        why = " ".join(str(error).split())[:100] or type(error).__name__
        raise BadInput(f"{name} is no package that can be unpacked ({why}).") from None
