"""Removes names from a store's contents: people, hosts, and paths on somebody's machine. Pure functions."""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

# Names of accounts and roles that say nothing of anybody, and words that texts are full of.
NOBODY = frozenset({"", "Instructor", "admin", "instructor", "jovyan", "learner", "root", "student", "ubuntu", "user"})
NO_HOST = frozenset({"", "localhost", "127.0.0.1", "::1"})
LEARNER, NODE = "learner-", "node-"
SHORTEST = 2  # characters of a name that is looked for in texts; a single one may be anything
ADDRESS = "an-address"

_ADDRESS = re.compile(r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)")
# An absolute path of at least two parts; what follows a word, a tag or a host of a URL isn't one.
_PART = r"[^\s/'\"`<>|:;,()\[\]{}]+"
_PATH = re.compile(rf"(?<![\w./~<>-])(?:~[\w.-]*/(?:{_PART}/)*|/(?:{_PART}/)+)(?:{_PART})?")
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_PARTS = frozenset(b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB sBIT bKGD pHYs".split())  # what is needed to draw it
_KEPT_FROM = ("/site-packages/", "/workshop/", "/labs/", "/app/")  # code of everybody's: where it is in its package


class Names:
    """The known names, and their replacements: learner-1, node-1, …, always the same for the same name.

    Names of that form stay as they are. `terms` are words that count as no names in a text, even if somebody is called
    so; `folders` are beginnings of paths.
    """

    def __init__(
        self,
        people: Iterable[str] = (),
        hosts: Iterable[str] = (),
        terms: Collection[str] = (),
        folders: Iterable[str] = (),
    ) -> None:
        self.people = _numbered(LEARNER, (name for name in people if name not in NOBODY))
        self.hosts = _numbered(NODE, (name for name in hosts if name not in NO_HOST))
        # A full name of a host also stands for its short one.
        short = {name.partition(".")[0]: new for name, new in self.hosts.items() if not _ADDRESS.fullmatch(name)}
        in_texts = {name: new for name, new in self.people.items() if name not in terms}
        named = {name: new for name, new in (short | self.hosts | in_texts).items() if len(name) >= SHORTEST}
        self._new = {form: new for name, new in named.items() for form in _forms(name)} | named
        self._known = _any_of(self._new)
        # Behind a longer one, a shorter folder finds nothing any more.
        longest_first = sorted({folder.rstrip("/") for folder in folders} - {""}, key=len, reverse=True)
        self._folders = [folder for folder in longest_first if folder.count("/") > 1]

    @property
    def replaced(self) -> int:
        """How many names have another one in their place."""
        return sum(name != new for name, new in (self.people | self.hosts).items())

    def person(self, name: str) -> str:
        """The replacement for a person's name, in columns that hold a name alone."""
        return self.people.get(name, name if name in NOBODY else f"{LEARNER}{len(self.people) + 1}")

    def text(self, text: str, paths: bool = True) -> str:
        """A text without names, addresses and (with `paths`) paths of a machine."""
        if paths and "/" in text:
            for folder in self._folders:
                text = text.replace(f"{folder}/", "/workshop/") if folder in text else text
            text = _PATH.sub(_shortened, text)
        if self._known is not None:
            text = self._known.sub(lambda match: self._new[match[0]], text)
        return _ADDRESS.sub(ADDRESS, text) if "." in text else text

    def file(self, data: bytes) -> bytes | None:
        """A file's contents without names: text in UTF-8, or in UTF-16 with its mark, and PNG pictures without their
        comments. None for other files, in which names can't be searched."""
        if data.startswith(_PNG):
            return _only_picture(data)
        encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            return None
        return None if "\0" in text else self.text(text).encode(encoding)

    def clean(self, value: Any, paths: bool = True) -> Any:
        """The same for all texts of a JSON value, keys of objects included."""
        if isinstance(value, str):
            return self.text(value, paths)
        if isinstance(value, Mapping):
            return {self.text(name, paths): self.clean(member, paths) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(member, paths) for member in value]
        return value


def hosts_in(value: Any) -> Iterable[str]:
    """The names of hosts in a JSON value as we keep them: placements, rank maps, machines, errors, sites."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            if key in ("host", "address") and isinstance(member, str):
                yield member
            elif key == "hosts" and isinstance(member, list | tuple):
                yield from _listed(member)
            else:
                yield from hosts_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from hosts_in(member)


def _listed(hosts: Iterable[Any]) -> Iterable[str]:
    for host in hosts:
        name = host.get("name") if isinstance(host, Mapping) else host
        if isinstance(name, str):
            yield name


def _numbered(prefix: str, names: Iterable[str]) -> dict[str, str]:
    """A number for each name, in the order of their appearance; known names keep theirs."""
    distinct = list(dict.fromkeys(names))
    form = re.compile(rf"{re.escape(prefix)}[1-9][0-9]{{0,5}}")
    numbered = {name: name for name in distinct if form.fullmatch(name)}
    number = 0
    for name in distinct:
        if name in numbered:
            continue
        number += 1
        while f"{prefix}{number}" in numbered:
            number += 1
        numbered[name] = f"{prefix}{number}"
    return numbered


def _forms(name: str) -> set[str]:
    """A name as texts may write it: accents as one character or two, and JSON without any."""
    composed = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
    return composed | {json.dumps(form)[1:-1] for form in composed}


def _only_picture(png: bytes) -> bytes | None:
    """A PNG picture without comments and other parts that drawing doesn't need; None for a damaged one."""
    parts, at = [_PNG], len(_PNG)
    while at < len(png):
        end = at + 12 + int.from_bytes(png[at : at + 4])  # length, kind, contents, check
        part, kind = png[at:end], png[at + 4 : at + 8]
        if end > len(png) or zlib.crc32(part[4:-4]) != int.from_bytes(part[-4:]):
            return None
        if kind in _PNG_PARTS:
            parts.append(part)
        if kind == b"IEND":
            return b"".join(parts)
        at = end
    return None


def _any_of(names: Collection[str]) -> re.Pattern[str] | None:
    """Any of these as a whole word, the longest first."""
    if not names:
        return None
    longest = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    return re.compile(rf"(?<![\w])(?:{longest})(?![\w])")


def _shortened(match: re.Match[str]) -> str:
    path = match[0]
    start = max(path.rfind(marker) for marker in _KEPT_FROM)
    return path[start + 1 :] if start >= 0 else path.rstrip("/").rpartition("/")[2]
