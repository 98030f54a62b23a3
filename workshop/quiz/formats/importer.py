"""What reading a format has in common: questions become those of a deck, or are named with the reason why not."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from pydantic import TypeAdapter, ValidationError

from workshop.core import words
from workshop.core.errors import BadInput, bad_input
from workshop.quiz import pictures
from workshop.quiz.deck import Deck, Question
from workshop.quiz.formats import markdown_writer
from workshop.quiz.formats.base import Imported, Lost
from workshop.quiz.formats.markdown_writer import MarkdownText
from workshop.quiz.parts import Picture

_HTML = re.compile(r"<[A-Za-z/!]|&#?\w+;|\\[(\[]|\$\$")
_MATH = re.compile(r"\\\\\((.+?)\\\\\)|\\\\\[(.+?)\\\\\]", re.DOTALL)
MOST = 200  # questions of a deck
_ONE: TypeAdapter[Any] = TypeAdapter(Question)


def slug(text: str, otherwise: str) -> str:
    """A name of small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or otherwise


class DeckBuilder:
    """The questions of a file, as they are read one after the other."""

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
        wanted = slug(title, f"question-{len(self.questions) + 1}")
        made, number = wanted, 2
        while made in self._ids:
            made, number = f"{wanted[:55].rstrip('-')}-{number}", number + 1
        return made

    def add(self, question: Mapping[str, Any], lost: list[str] | None = None) -> bool:
        """Take a question, whose id is free, with what it lost on the way; or tell why not, and return False."""
        id = str(question["id"])
        if len(self.questions) == MOST:
            self.leave(id, f"not taken, because a deck has at most {MOST} questions")
            return False
        try:
            made = _ONE.validate_python({name: value for name, value in question.items() if value not in ("", None)})
        except ValidationError as error:
            said = re.sub(rf"(^|; ){question['type']}[.:] ?", r"\1", str(bad_input(error)))
            self.leave(id, f"not taken: {said[:300]}")
            return False
        self._ids.add(id)
        self.questions.append(made)
        self.lost += [Lost(id, what) for what in dict.fromkeys(lost or ())]
        return True

    def take(self, title: str, reader: QuestionReader) -> None:
        """Take what is read, with its pictures; or tell why not."""
        try:
            made = reader.question()
        except ValueError as error:
            self.leave(title, f"not taken: {error}")
            return
        if self.add(made, reader.lost):
            self.pictures |= reader.pictures

    def leave(self, title: str, why: str) -> None:
        """Tell that a question isn't taken."""
        self.lost.append(Lost(" ".join(title.split())[:60] or f"question {len(self.questions) + 1}", why, "question"))

    def imported(self) -> Imported:
        """The deck. Raises BadInput where there is no question that could be taken."""
        if not self.questions:
            why = f" ({'; '.join(str(one) for one in self.lost[:5])})" if self.lost else ""
            raise BadInput(f"{self.name} has no question that a deck can hold{why}.")
        stem = Path(self.name).stem
        title = " ".join(self.title.split())[:500] or stem[:500] or "Questions"
        alike = {}
        for part in ("seconds", "points"):  # what all questions have alike, the deck says for them
            values = {
                getattr(question, part) for question in self.questions if question.type != "poll" or part != "points"
            }
            if len(values) == 1 and (value := values.pop()) is not None:
                alike[part] = value
        deck = Deck(
            deck=slug(self.id or stem, "questions"),
            title=title,
            about=self.about[:10_000],
            questions=tuple(question.model_copy(update=dict.fromkeys(alike)) for question in self.questions),
            **alike,
        )
        return Imported(deck, tuple(self.lost), self.pictures)


class QuestionReader(ABC):
    """One question as it is read: its id, its picture, and what is lost on the way."""

    def __init__(self, id: str, found: DeckBuilder) -> None:
        self.id, self.found = id, found
        self.lost: list[str] = []
        self.picture: dict[str, str] | None = None
        self.pictures: dict[str, bytes] = {}

    @abstractmethod
    def question(self) -> dict[str, Any]:
        """The question as a deck has it. Raises ValueError with the reason why it can't be taken."""

    def text(self, made: MarkdownText, load: Callable[[str], bytes | None] | None) -> str:
        """A text, whose first picture that `load` finds becomes the question's."""
        self.lost += made.lost
        for address, alt in made.pictures:
            if load is None or self.picture is not None or not self._take(address, alt, load(address)):
                self.lost.append(f"the picture {address[:60].removeprefix('@@PLUGINFILE@@/')}")
        return made.text

    def _take(self, address: str, alt: str, data: bytes | None) -> bool:
        """Whether a picture is one that decks can show."""
        if data is None:
            return False
        path = PurePosixPath(unquote(address))
        kept = f"{slug(path.stem, 'picture')}{path.suffix.lower()}"
        if self.found.pictures.get(kept, data) != data:
            kept = f"{self.id}-{kept}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                (Path(folder) / kept).write_bytes(data)
                pictures.load(Path(folder), Picture(file=kept, alt="-"))
            except (BadInput, OSError):
                return False
        self.pictures[kept] = data
        self.picture = {"file": kept, "alt": " ".join(alt.split())[:500] or "a picture"}
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
    """The last name of Moodle's path of categories, in which a slash that belongs to a name is written twice."""
    return re.split(r"(?<!/)/(?!/)", path)[-1].replace("//", "/").strip()


def converted(text: str, format: str) -> MarkdownText:
    """A text of Moodle's as Markdown, by the name of its format: html, markdown, plain (plain_text), or its own, where
    a new line is one and everything else HTML."""
    text = text.strip()
    if format == "markdown":
        return MarkdownText(_MATH.sub(_formula, text))
    if format.startswith("plain") or (format != "html" and not _HTML.search(text)):
        return MarkdownText(markdown_writer.escaped(text))
    return markdown_writer.markdown(text if format == "html" else text.replace("\n", "<br>"))


def _formula(found: re.Match[str]) -> str:
    """A formula in Moodle's Markdown, where its backslashes and marks are escaped."""
    tex = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", (found[1] or found[2]).strip())
    return f"${tex}$" if found[1] else f"$${tex}$$"


def number(text: str) -> float:
    """A number as people and programs write it: 1,5 and 1.5. Raises ValueError."""
    value = float(text.strip().replace(",", ".") if text.count(",") == 1 and "." not in text else text.strip())
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is no finite number")
    return value


def forms(answers: Iterable[tuple[str, float, str]], lost: list[str]) -> dict[str, Any]:
    """Forms with a share of the points and a feedback each, as a question of words; `lost` takes what a deck can't
    hold. In a form, a star stands for anything. Raises ValueError where no form has all points."""
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
    """A question of words; `near` has wrong forms by their feedback."""
    return {"type": "text", "accept": accept, "near": [{"accept": v, "feedback": k} for k, v in near.items()]}


def numbers(answers: Iterable[tuple[float, float, float, str]], lost: list[str]) -> dict[str, Any]:
    """Numbers, by how much each may be off, its share of the points and its feedback, as a question; `lost` takes what
    a deck can't hold. Raises ValueError where no number has all points."""
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
    """Lefts and rights as a question; what belongs to nothing has no left."""
    known = list(pairs)
    found = [{"left": left, "right": right} for left, right in known if left]
    return {"type": "match", "pairs": found, "extra": [right for left, right in known if right and not left]}


def choices(options: list[dict[str, Any]], single: bool) -> tuple[dict[str, Any], list[str]]:
    """Options with a `share` of the points each, as a question of a deck; and what was lost of the shares.

    A single choice has its whole points for one option; in a multiple choice, the right ones share the points, and
    wrong ones take as much away.
    """
    lost: list[str] = []
    shares = [option.pop("share") for option in options]
    if single:
        best = max(shares, default=0.0)
        rights = [share == best and share > 0 for share in shares]
        partly = [share for share, right in zip(shares, rights, strict=True) if not right and share]
        if partly or (best not in (0.0, 1.0) and best < 0.995):
            told = [words.percent(share) for share in shares if share]
            lost.append(f"shares of the points for options that are partly right ({', '.join(told)})")
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
