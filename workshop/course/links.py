"""Links of a notebook to files of a lab, which learners get with it as labs/<lab>/<file>."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from workshop import registry

FOLDER = "labs"  # beside the notebooks
INSTRUCTORS_FILES = ("lab.yaml", "notebook.md", "checks.py", "mistakes.py", "runsheet.md", "quiz.yaml")

_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)[^)]*\)")
_CODE = re.compile(r"(?ms)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1\s*$|\Z)|`[^`\n]+`")


def relative(text: str) -> Iterator[tuple[int, str]]:
    """The relative links in a Markdown text, with their lines from 0."""
    without_code = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for link in _LINK.finditer(without_code):
        parts = urlsplit(link[1])
        if not parts.scheme and not parts.netloc and parts.path:
            yield without_code.count("\n", 0, link.start()), unquote(parts.path)


def problem(link: str, labs: Path | None = None) -> str | None:
    """Why learners can't follow a relative link, without a full stop; None where they can. See `file` for `labs`."""
    if file(link, labs) is not None:
        return None
    if PurePosixPath(link).name in INSTRUCTORS_FILES and PurePosixPath(link).parts[:1] == (FOLDER,):
        return f"the link {link} leads to what learners don't get"
    return f"the link {link} leads nowhere; a file of a lab is linked to as {FOLDER}/<lab>/<file>"


def file(link: str, labs: Path | None = None) -> Path | None:
    """The file behind a link `labs/<lab>/<file>`; None where learners don't get it. The lab is in the folder `labs`, or
    is any lab of an extension."""
    parts = PurePosixPath(link).parts
    if len(parts) != 3 or parts[0] != FOLDER or ".." in parts or parts[2] in INSTRUCTORS_FILES:
        return None
    folders = {lab.name: lab.folder for lab in registry.labs()} if labs is None else {parts[1]: labs / parts[1]}
    path = folders[parts[1]] / parts[2] if parts[1] in folders else None
    return path if path is not None and path.is_file() and not path.is_symlink() else None
