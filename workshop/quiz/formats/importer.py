"""The common parts of all imports: building a deck from the read questions, and listing losses with their reasons."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from workshop.core import words
from workshop.core.errors import BadInput, bad_input
from workshop.quiz import pictures, types
from workshop.quiz.deck import Deck
from workshop.quiz.formats import html_tree, markdown_writer
from workshop.quiz.formats.base import Imported, Lost
from workshop.quiz.formats.markdown_writer import MarkdownText
from workshop.quiz.parts import Picture

_HTML = re.compile(r"<[A-Za-z/!]|&#?\w+;|\\[(\[]|\$\$")
_MATH = re.compile(r"\\\\\((.+?)\\\\\)|\\\\\[(.+?)\\\\\]", re.DOTALL)
MOST = 200  # questions of a deck


def slug(text: str, otherwise: str) -> str:
    """A name of small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or otherwise


class DeckBuilder:
    """Collects the questions of a file while they are read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = ""
        self.about = ""
        self.id = ""
        self.questions: list[Any] = []
        self.lost: list[Lost] = []
        self.pictures: dict[str, bytes] = {}
        self._ids: set[str] = set()

    def new_id(self, title: str) -> str:
        """An id that no other question has."""
        stem = slug(title, f"question-{len(self.questions) + 1}")
        candidate, number = stem, 2
        while candidate in self._ids:
            candidate, number = f"{stem[:55].rstrip('-')}-{number}", number + 1
        return candidate

    def add(self, question: Mapping[str, Any], lost: list[str] | None = None) -> bool:
        """Add a question with an unused id, and its losses. If it is invalid, list the reason and return False."""
        id = str(question["id"])
        if len(self.questions) == MOST:
            self.leave(id, f"not taken, because a deck has at most {MOST} questions")
            return False
        try:
            validated = types.classes()[question["type"]].model_validate(
                {name: value for name, value in question.items() if value not in ("", None)}
            )
        except ValidationError as error:
            reason = re.sub(rf"(^|; ){question['type']}[.:] ?", r"\1", str(bad_input(error)))
            self.leave(id, f"not taken: {reason[:300]}")
            return False
        self._ids.add(id)
        self.questions.append(validated)
        self.lost += [Lost(id, what) for what in dict.fromkeys(lost or ())]
        return True

    def take(self, title: str, reader: QuestionReader) -> None:
        """Add the reader's question with its pictures, or list the reason why not."""
        try:
            question = reader.question()
        except ValueError as error:
            self.leave(title, f"not taken: {error}")
            return
        if self.add(question, reader.lost):
            self.pictures |= reader.pictures

    def leave(self, title: str, why: str) -> None:
        """List a question that isn't imported, with the reason."""
        self.lost.append(Lost(" ".join(title.split())[:60] or f"question {len(self.questions) + 1}", why, "question"))

    def imported(self) -> Imported:
        """The deck. Raises BadInput if no question could be imported."""
        if not self.questions:
            why = f" ({'; '.join(str(loss) for loss in self.lost[:5])})" if self.lost else ""
            raise BadInput(f"{self.name} has no question that a deck can hold{why}.")
        stem = Path(self.name).stem
        title = " ".join(self.title.split())[:500] or stem[:500] or "Questions"
        common = {}
        for part in ("seconds", "points"):  # a value that all questions share becomes the deck's
            values = {
                getattr(question, part) for question in self.questions if question.type != "poll" or part != "points"
            }
            if len(values) == 1 and (value := values.pop()) is not None:
                common[part] = value
        deck = Deck(
            deck=slug(self.id or stem, "questions"),
            title=title,
            about=self.about[:10_000],
            questions=tuple(question.model_copy(update=dict.fromkeys(common)) for question in self.questions),
            **common,
        )
        return Imported(deck, tuple(self.lost), self.pictures)


class QuestionReader(ABC):
    """Reads one question: its id, its fields, its picture and its losses."""

    def __init__(self, id: str, builder: DeckBuilder) -> None:
        self.id, self.builder = id, builder
        self.lost: list[str] = []
        self.picture: dict[str, str] | None = None
        self.pictures: dict[str, bytes] = {}

    @abstractmethod
    def question(self) -> dict[str, Any]:
        """The fields of the deck's question. Raises ValueError with the reason if decks can't contain it."""

    def text(self, converted: MarkdownText, load: Callable[[str], bytes | None] | None) -> str:
        """A text as Markdown; its first picture that `load` finds becomes the question's picture."""
        self.lost += converted.lost
        for address, alt in converted.pictures:
            if load is None or self.picture is not None or not self._take(address, alt, load(address)):
                self.lost.append(f"the picture {address[:60].removeprefix('@@PLUGINFILE@@/')}")
        return converted.text

    def _take(self, address: str, alt: str, data: bytes | None) -> bool:
        """Use a picture for the question; False if decks can't show it."""
        if data is None:
            return False
        path = PurePosixPath(unquote(address))
        filename = f"{slug(path.stem, 'picture')}{path.suffix.lower()}"
        if self.builder.pictures.get(filename, data) != data:
            filename = f"{self.id}-{filename}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                (Path(folder) / filename).write_bytes(data)
                pictures.load(Path(folder), Picture(file=filename, alt="-"))
            except (BadInput, OSError):
                return False
        self.pictures[filename] = data
        self.picture = {"file": filename, "alt": " ".join(alt.split())[:500] or "a picture"}
        return True


def text_of(data: bytes, name: str, format: str) -> str:
    """The text of a file. Raises BadInput."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"{name}, line {line}: not UTF-8 text, which a file in {format} should be.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def category(path: str) -> str:
    """The last name of Moodle's path of categories, in which a slash inside of a name is doubled."""
    return re.split(r"(?<!/)/(?!/)", path)[-1].replace("//", "/").strip()


def converted(text: str, format: str) -> MarkdownText:
    """A text from Moodle as Markdown, by the name of its format: html, markdown, plain (plain_text), or Moodle's own
    format, which is HTML with line breaks at new lines."""
    text = text.strip()
    if format == "markdown":
        return MarkdownText(_MATH.sub(_formula, text))
    if format.startswith("plain") or (format != "html" and not _HTML.search(text)):
        return MarkdownText(markdown_writer.escaped(text))
    if format == "html":
        return markdown_writer.markdown(html_tree.with_words(text, typed=False))
    return markdown_writer.markdown(html_tree.with_words(text, typed=True).replace("\n", "<br>"))


def _formula(match: re.Match[str]) -> str:
    """A formula from Moodle's Markdown, without the escapes of its backslashes and marks."""
    tex = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", (match[1] or match[2]).strip())
    return f"${tex}$" if match[1] else f"$${tex}$$"


def number(text: str) -> float:
    """A number with a decimal comma or point: 1,5 and 1.5. Raises ValueError."""
    value = float(text.strip().replace(",", ".") if text.count(",") == 1 and "." not in text else text.strip())
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is no finite number")
    return value


def forms(answers: Iterable[tuple[str, float, str]], lost: list[str]) -> dict[str, Any]:
    """A text question from forms, each with a share of the points and a feedback; losses are added to `lost`. In a
    form, a star is a wildcard. Raises ValueError if no form gets all points."""
    accept: list[str] = []
    near: dict[str, list[str]] = {}
    for form, share, feedback in answers:
        plain, quoted = form.replace("\\*", "*"), repr(form.replace("\\*", "*")[:40])
        if re.search(r"(?<!\\)\*", form):
            lost.append(f"the form {form[:40]!r}, in which a star stands for anything")
        elif share == 1:
            accept.append(plain)
            lost += [f"the feedback on {quoted}, which is right"] if feedback else []
        elif share == 0 and feedback:
            near.setdefault(feedback, []).append(plain)
        else:
            lost.append(f"the form {quoted}, for which there are {100 * share:g} % of the points")
    if not accept:
        raise ValueError("no accepted form without a star is left")
    return words_of(accept, near)


def words_of(accept: list[str], near: Mapping[str, list[str]]) -> dict[str, Any]:
    """A text question; `near` has wrong forms by their feedback."""
    return {"type": "text", "accept": accept, "near": [{"accept": v, "feedback": k} for k, v in near.items()]}


def numbers(answers: Iterable[tuple[float, float, float, str]], lost: list[str]) -> dict[str, Any]:
    """A number question from numbers, each with a tolerance, a share of the points and a feedback; losses are added to
    `lost`. Raises ValueError if no number gets all points."""
    right, near = [], []
    for value, off, share, feedback in answers:
        if share == 1:
            right.append((value, off))
            lost += [f"the feedback on {value:g}, which is right"] if feedback else []
        elif share == 0 and feedback:
            near.append({"answer": value, "tolerance": {"absolute": off}, "feedback": feedback})
        else:
            lost.append(f"{value:g} ± {off:g}, for which there are {100 * share:g} % of the points")
    if not right:
        raise ValueError("no number has all points")
    if len(right) > 1:
        lost.append(f"other right numbers ({', '.join(f'{value:g}' for value, _ in right[1:])})")
    (value, off), *_ = right
    return {"type": "number", "answer": value, "tolerance": {"absolute": off}, "near": near}


def matches(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A match question from left and right sides; a right side that belongs to nothing has an empty left side."""
    all_pairs = list(pairs)
    matched = [{"left": left_text, "right": right} for left_text, right in all_pairs if left_text]
    return {
        "type": "match",
        "pairs": matched,
        "extra": [right for left_text, right in all_pairs if right and not left_text],
    }


def choices(options: list[dict[str, Any]], single: bool) -> tuple[dict[str, Any], list[str]]:
    """A choice question from options, each with a `share` of the points; and the losses.

    In a deck's single choice, one option gets all points. In a multiple choice, the right options share the points,
    and each wrong option takes away as much.
    """
    lost: list[str] = []
    shares = [option.pop("share") for option in options]
    if single:
        best = max(shares, default=0.0)
        rights = [share == best and share > 0 for share in shares]
        partly = [share for share, right in zip(shares, rights, strict=True) if not right and share]
        if partly or (best not in (0.0, 1.0) and best < 0.995):
            percentages = [words.percent(share) for share in shares if share]
            lost.append(f"shares of the points for options that are partly right ({', '.join(percentages)})")
        type = "single" if sum(rights) == 1 else "multiple"
        if type == "multiple" and sum(rights) > 1:
            lost.append("that one of several right options is enough; all of them have to be chosen")
    else:
        rights = [share > 0 for share in shares]
        each = 1 / max(1, sum(rights))
        usual = [each if right else -each for right in rights]
        if any(abs(share - other) > 0.006 for share, other in zip(shares, usual, strict=True)):
            lost.append("options' own shares of the points; right ones count alike, wrong ones take as much away")
        type = "multiple"
    for option, right in zip(options, rights, strict=True):
        option["right"] = right
    return {"type": type, "options": options}, lost
