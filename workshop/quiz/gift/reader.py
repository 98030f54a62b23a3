"""Reads a deck from Moodle GIFT. The grammar is that of Moodle's import (question/format/gift), but blank lines inside
of braces are allowed, and texts in HTML are refused.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput, bad_input
from workshop.quiz import types
from workshop.quiz.deck import Deck
from workshop.quiz.gift.writer import Loss, escaped, from_moodle

LARGEST_FILE = 5 * 1024 * 1024  # bytes of a file
MOST_QUESTIONS = 200  # questions of a deck
# While a text is parsed, characters of a private plane stand for its escaped characters.
_PRIVATE = 0xF0000
_ESCAPED = re.compile(r"\\(\\|[~=#{}:n])")
_WEIGHT = re.compile(r"%(-?\d{1,3}(?:\.\d*)?)%")
_FORMAT = re.compile(r"\A\s*\[(html|markdown|plain|moodle)\]")
_TAG = re.compile(r"\[(tag|id):((?:\\\]|[^\]])+)\]")
_BLANK = re.compile(r"\n[ \t]*\n")


def read(path: Path) -> tuple[Deck, tuple[Loss, ...]]:
    """Return the deck of a GIFT file, and the losses. Raises BadInput with the file and the line."""
    too_large = f"{path} has more than {LARGEST_FILE // 1024**2} MB; split it into several files."
    text = _decoded(yaml_files.read_bytes(path, LARGEST_FILE, too_large), str(path))
    reader = _GiftReader(str(path))
    paths: list[str] = []
    for block in _blocks(text):
        if block.text.startswith("$CATEGORY:"):
            paths.append(_raw(block.text[len("$CATEGORY:") :]).strip())
        else:
            reader.question(block)
    if len(set(paths)) > 1:
        reader.losses.append(Loss("", f"its {len(set(paths))} categories; all questions are in one deck"))
    if not reader.questions:
        why = f" ({'; '.join(str(loss) for loss in reader.losses[:5])})" if reader.losses else ""
        raise BadInput(f"{path} has no question that a deck can hold{why}.")
    title = " ".join(_category(paths[0]).split()) if paths else ""
    deck = Deck(
        deck=_slug(title or path.stem, "questions"),
        title=(title or path.stem)[:500],
        questions=tuple(reader.questions),
    )
    return deck, tuple(reader.losses)


@dataclass
class _GiftBlock:
    """One question of the file; escaped characters are hidden."""

    line: int
    text: str
    tags: list[str] = field(default_factory=list)
    id: str = ""


class _GiftAnswer(NamedTuple):
    text: str
    weight: float  # 1: all points
    feedback: str  # Markdown


class _GiftReader:
    """Collects the questions of a file while they are read; `lost` and `format` are those of the present question."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.questions: list[Any] = []
        self.losses: list[Loss] = []
        self.format = "moodle"
        self.lost: list[str] = []

    def markdown(self, text: str) -> str:
        """A text as Markdown, from its own format or the question's. Raises ValueError for HTML."""
        match = _FORMAT.match(text)
        return from_moodle(_unhidden(text[match.end() :] if match else text), match[1] if match else self.format)

    def plain(self, text: str) -> str:
        return _unhidden(_FORMAT.sub("", text, count=1)).strip()

    def question(self, block: _GiftBlock) -> None:
        self.lost, self.format = [], "moodle"
        title, text = "", block.text
        if text.startswith("::") and "::" in text[2:]:
            title, text = text[2:].split("::", 1)
            title, text = _unhidden(title).strip(), text.strip()
        before, brace, rest = text.partition("{")
        inside, _, after = rest.partition("}")
        if text.count("{") > text.count("}") or ("{" in inside and _BLANK.search(text)):  # it swallows later questions
            raise BadInput(f"{self.name}, line {block.line}: a brace {{ that isn't closed; each needs a }}.")
        if match := _FORMAT.match(text):
            self.format = match[1]
        label = title or _unhidden(_FORMAT.sub("", before, count=1))
        if not brace and "}" not in text:
            self.leave(label, "not taken: a description, which asks for nothing")
            return
        if set("{}") & {*before, *inside, *after}:
            pairs = text.count("{")
            problem = "a brace } that nothing opens" if text.count("}") > pairs else f"{pairs} pairs of braces (gaps)"
            rule = "a question has one pair, with its answers, and braces of a text are written \\{ and \\}"
            self.leave(label, f"not taken: {problem}; {rule}")
            return
        gap = r"\_\_\_\_\_" if self.format == "markdown" else "_____"
        question_text = before.rstrip() if not after.strip() else before + gap + after
        inside, _, explanation = inside.rpartition("####") if "####" in inside else (inside, "", "")
        fields: dict[str, Any] = {"tags": block.tags}
        try:
            fields |= {"text": self.markdown(question_text), "explanation": self.markdown(explanation)}
            fields |= {"id": self.new_id(title or block.id or fields["text"][:60])}
            fields |= self.answers(inside.strip())
        except ValueError as error:
            self.leave(label, f"not taken: {error}")
            return
        self.add(fields)

    def answers(self, text: str) -> dict[str, Any]:
        """The type and the answers of a question. Raises ValueError with the reason if decks can't contain it."""
        if not text:
            raise ValueError("an essay, which a person has to judge")
        if text.startswith("#"):
            return self.numbers(text[1:])
        if "~" in text:
            return self.choices(text)
        if "=" in text and "->" in text:
            return self.pairs(text)
        first, *feedback = text.split("#")
        if first.strip() in ("T", "TRUE", "F", "FALSE"):
            return self.true_or_false(first.strip() in ("T", "TRUE"), feedback)
        return self.words(text)

    def listed(self, text: str, first: str = "=") -> list[_GiftAnswer]:
        """The answers in braces, each with its weight: 1 for =, 0 for ~, or the number in %…%; `first` is the sign of a
        first answer without a sign. As in Moodle, answers without a text don't count: `~=right` is one answer."""
        answers = []
        signed = text if text.lstrip().startswith(("=", "~")) else first + text
        for sign, piece in re.findall(r"([=~])\s*([^=~]*)", signed):
            weight = 1.0 if sign == "=" else 0.0
            if match := _WEIGHT.match(piece):
                weight, piece = float(match[1]) / 100, piece[match.end() :]
            answer, _, feedback = map(str.strip, piece.partition("#"))
            if answer:
                answers.append(_GiftAnswer(answer, weight, self.markdown(feedback)))
            elif feedback:
                self.lost.append("the feedback on an answer without a text")
        return answers

    def choices(self, text: str) -> dict[str, Any]:
        """A choice question. In a deck's single choice, one option gets all points. In a multiple choice, the right
        options share the points, and each wrong option takes away as much."""
        answers = self.listed(text, "~")
        shares = [answer.weight for answer in answers]
        best = max(shares, default=0.0)
        single = "=" in text
        rights = [share > 0 and (share == best or not single) for share in shares]
        each = 1.0 if single else 1 / max(1, sum(rights))
        usual = [each if right else 0.0 if single else -each for right in rights]
        if any(abs(share - other) > 0.006 for share, other in zip(shares, usual, strict=True)):
            percentages = ", ".join(words.percent(share) for share in shares)
            self.lost.append(f"options' own shares of the points ({percentages})")
        if single and sum(rights) > 1:
            self.lost.append("that one of several right options is enough; all of them have to be chosen")
        options = [
            {"text": self.markdown(answer.text), "feedback": answer.feedback, "right": right}
            for answer, right in zip(answers, rights, strict=True)
        ]
        return {"type": "single" if single and sum(rights) == 1 else "multiple", "options": options}

    def true_or_false(self, true: bool, feedback: list[str]) -> dict[str, Any]:
        wrong, right = (self.markdown(part) for part in [*feedback, "", ""][:2])
        options = [
            {"text": text, "right": yes == true, "feedback": right if yes == true else wrong}
            for text, yes in (("True", True), ("False", False))
        ]
        return {"type": "single", "options": options, "shuffle": False}

    def graded(self, answers: list[tuple[_GiftAnswer, Any, str]]) -> tuple[list[Any], list[tuple[Any, str]]]:
        """The values of answers with all points, and those of wrong answers, each with its feedback; of each answer
        there are its value and what it is called in a loss. Raises ValueError if no answer gets all points."""
        right, near = [], []
        for answer, value, name in answers:
            if answer.weight == 1:
                right.append(value)
                self.lost += [f"the feedback on {name}, which is right"] if answer.feedback else []
            elif answer.weight == 0 and answer.feedback:
                near.append((value, answer.feedback))
            else:
                self.lost.append(f"{name}, for which there are {100 * answer.weight:g} % of the points")
        if not right:
            raise ValueError("no answer has all points")
        return right, near

    def words(self, text: str) -> dict[str, Any]:
        """A text question. In a form, a star is a wildcard, which decks don't have."""
        answers: list[tuple[_GiftAnswer, Any, str]] = []
        for answer in self.listed(text):
            form = self.plain(answer.text)
            if re.search(r"(?<!\\)\*", form):
                self.lost.append(f"the form {form[:40]!r}, in which a star stands for anything")
            else:
                form = form.replace("\\*", "*")
                answers.append((answer, form, f"the form {form[:40]!r}"))
        accept, wrong = self.graded(answers)
        by_feedback: dict[str, list[str]] = {}
        for form, feedback in wrong:
            by_feedback.setdefault(feedback, []).append(form)
        near = [{"accept": forms, "feedback": feedback} for feedback, forms in by_feedback.items()]
        return {"type": "text", "accept": accept, "near": near}

    def numbers(self, text: str) -> dict[str, Any]:
        """A number question."""
        text, _, wrong = text.partition("~")
        if "#" in wrong and self.markdown(wrong.split("#", 1)[1]):
            self.lost.append("the feedback on any other number")
        ranges = [(answer, _range(self.plain(answer.text))) for answer in self.listed(text)]
        right, wrongs = self.graded([(answer, range, f"{range[0]:g} ± {range[1]:g}") for answer, range in ranges])
        (value, off), *others = right
        if others:
            self.lost.append(f"other right numbers ({', '.join(f'{value:g}' for value, _ in others)})")
        near = [
            {"answer": value, "tolerance": {"absolute": off}, "feedback": feedback} for (value, off), feedback in wrongs
        ]
        return {"type": "number", "answer": value, "tolerance": {"absolute": off}, "near": near}

    def pairs(self, text: str) -> dict[str, Any]:
        """A match question; a right side that belongs to nothing has an empty left side."""
        pairs, extra = [], []
        for piece in filter(str.strip, text.split("=")):
            left_text, arrow, right_text = piece.partition("->")
            if not arrow:
                raise ValueError(f"{_unhidden(piece).strip()[:40]!r} should have -> in it, as all pairs")
            left_side = self.markdown(left_text).replace("-&gt;", "->")
            right_side = escaped(_unhidden(right_text).strip()).replace(r"-\&gt;", "->")
            if left_side:
                pairs.append({"left": left_side, "right": right_side})
            elif right_side:
                extra.append(right_side)
        return {"type": "match", "pairs": pairs, "extra": extra}

    def new_id(self, title: str) -> str:
        """An id that no other question has."""
        ids = {question.id for question in self.questions}
        stem = _slug(title, f"question-{len(self.questions) + 1}")
        return next(id for id in (stem, *(f"{stem[:55].rstrip('-')}-{n}" for n in range(2, 999))) if id not in ids)

    def add(self, question: Mapping[str, Any]) -> None:
        """Add a question with an unused id, and its losses. If it is invalid, list the reason."""
        id = str(question["id"])
        if len(self.questions) == MOST_QUESTIONS:
            self.leave(id, f"not taken, because a deck has at most {MOST_QUESTIONS} questions")
            return
        try:
            validated = types.CLASSES[question["type"]].model_validate(
                {name: value for name, value in question.items() if value not in ("", None)}
            )
        except ValidationError as error:
            reason = re.sub(rf"(^|; ){question['type']}[.:] ?", r"\1", str(bad_input(error)))
            self.leave(id, f"not taken: {reason[:300]}")
            return
        self.questions.append(validated)
        self.losses += [Loss(id, what) for what in dict.fromkeys(self.lost)]

    def leave(self, title: str, why: str) -> None:
        """List a question that isn't imported, with the reason."""
        self.losses.append(Loss(" ".join(title.split())[:60] or f"question {len(self.questions) + 1}", why, "question"))


def _blocks(text: str) -> Iterator[_GiftBlock]:
    """Questions and categories, separated by blank lines outside of braces."""
    lines: list[str] = []
    tags: list[str] = []
    id, began, depth = "", 1, 0
    for number, line in enumerate([*_hidden(text).split("\n"), ""], 1):
        if line.lstrip().startswith("//"):
            for kind, value in _TAG.findall(line):
                value = _unhidden(value).replace("\\]", "]").strip()
                tags, id = ([*tags, value], id) if kind == "tag" else (tags, value)
            continue
        if line.strip() or depth:
            if not lines:
                began = number
            lines.append(line)
            depth = max(0, depth + line.count("{") - line.count("}"))
        if lines and (lines[0].lstrip().startswith("$CATEGORY:") or (not line.strip() and not depth)):
            yield _GiftBlock(began, "\n".join(lines).strip(), list(dict.fromkeys(tags)), id)
            lines, tags, id, depth = [], [], "", 0
    if lines:
        yield _GiftBlock(began, "\n".join(lines).strip(), tags, id)


def _range(text: str) -> tuple[float, float]:
    """A number and its tolerance, from 3, 3:0.1 or 1..5. Raises ValueError."""
    try:
        low, dots, high = text.partition("..")
        if dots:
            least, most = _number(low), _number(high)
            return (least + most) / 2, abs(most - least) / 2
        value, _, off = text.partition(":")
        return _number(value), abs(_number(off)) if off.strip() else 0.0
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no number; it should be like 3, 3:0.1 or 1..5") from None


def _hidden(text: str) -> str:
    """The text with its escaped characters replaced by private ones."""
    text = text.translate(dict.fromkeys(range(_PRIVATE, _PRIVATE + 128), "\ufffd"))
    return _ESCAPED.sub(lambda match: chr(_PRIVATE + ord("\n" if match[1] == "n" else match[1])), text)


def _raw(text: str) -> str:
    """The original text with its backslashes, for categories, in which nothing is escaped."""
    return text.translate({_PRIVATE + code: f"\\{chr(code)}" for code in range(128)} | {_PRIVATE + 10: "\\n"})


def _unhidden(text: str) -> str:
    return text.translate({_PRIVATE + code: code for code in range(128)})


def _slug(text: str, otherwise: str) -> str:
    """A name of small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or otherwise


def _decoded(data: bytes, name: str) -> str:
    """The text of a file. Raises BadInput."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"{name}, line {line}: not UTF-8 text, which a file in GIFT should be.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _category(path: str) -> str:
    """The last name of Moodle's path of categories, in which a slash inside of a name is doubled."""
    return re.split(r"(?<!/)/(?!/)", path)[-1].replace("//", "/").strip()


def _number(text: str) -> float:
    """A number with a decimal comma or point: 1,5 and 1.5. Raises ValueError."""
    value = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value
