"""YAML that people write: data only, in the core schema (1.2), in which `off` and `no` are words; without tags of other
kinds and without aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from workshop.core.errors import BadInput


class Unreadable(Exception):
    """A text is no YAML. Its text follows the file's name and line: "is no YAML: ..."."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


def read_bytes(path: Path, largest: int, too_large: str) -> bytes:
    """A file of at most `largest` bytes. Raises BadInput with one sentence, which is `too_large` for a larger one."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} can't be read ({getattr(error, 'strerror', None) or error}).") from None
    if len(data) > largest:
        raise BadInput(too_large)
    return data


def read_text(path: Path, largest: int, what: str) -> str:
    """The text of a file of at most `largest` bytes. `what` says what it should be: "a study", which has a few lines.

    Raises BadInput with one sentence, which names the file.
    """
    data = read_bytes(path, largest, f"{path} has more than {largest // 1024} kB; {what}'s file has a few lines.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no text; it should be {what}'s YAML file.") from None


def compose(text: str) -> tuple[yaml.Node | None, Loader]:
    """The nodes of a text with their lines, and the loader that makes a document of them. Raises Unreadable."""
    with _readable_errors():
        loader = Loader(text)
        return loader.get_single_node(), loader


def document(node: yaml.Node | None, loader: Loader) -> Any:
    """The values of nodes: dicts, lists, texts, numbers, truth values and None. Raises Unreadable."""
    with _readable_errors():
        return loader.construct_document(node) if node is not None else None


def bad_keys(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """The line and the fault of every key that isn't a word or occurs twice."""
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from bad_keys(value)
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or not key.tag.endswith(":str"):
            yield line, "a name should be a word."
        elif key.value in lines:
            yield line, f"{key.value[:60]!r} is there twice, first in line {lines[key.value]}."
        else:
            lines[key.value] = line
        yield from bad_keys(value)


def line_of(node: yaml.Node, path: Sequence[str | int]) -> int:
    """The line, counted from 1, of the innermost existing part on the path. For a part with a name, it is the line of
    the name."""
    at, line = node, node.start_mark.line
    for part in path:
        if isinstance(at, yaml.MappingNode):
            pair = next((pair for pair in reversed(at.value) if pair[0].value == str(part)), None)
            if pair is None:
                break
            line, at = pair[0].start_mark.line, pair[1]
        elif isinstance(at, yaml.SequenceNode) and isinstance(part, int) and part < len(at.value):
            at = at.value[part]
            line = at.start_mark.line
        else:
            break
    return line + 1


@contextmanager
def _readable_errors() -> Iterator[None]:
    """PyYAML's errors as Unreadable."""
    try:
        yield
    except RecursionError:
        raise Unreadable("is nested too deeply.") from None
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        raise Unreadable(f"is no YAML: {error.problem or error.context}.", at.line + 1 if at else None) from None
    except yaml.reader.ReaderError as error:
        raise Unreadable(f"has a character that text can't have (number {error.character}).") from None
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(f"is no YAML: {' '.join(str(error).split())[:200]}.") from None


class Loader(yaml.SafeLoader):
    """YAML's core schema, without aliases: a short text should not become a long one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            at = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the stubs say nothing of its type
            raise yaml.MarkedYAMLError(None, None, "an alias (*name) stands for something else", at)
        return super().compose_node(parent, index)


def _integer(loader: Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))  # 012 is 12


_KINDS = ("null", "bool", "int", "float", "str", "seq", "map")
Loader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in _KINDS
}
Loader.add_constructor("tag:yaml.org,2002:int", _integer)
Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]{1,18}", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)
