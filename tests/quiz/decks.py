"""Decks for Hypothesis: questions of all nine types, with characters in their texts that mean something somewhere."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from workshop.quiz.deck import Deck

TYPES = ("single", "multiple", "poll", "number", "order", "match", "text", "predict", "place")

# What Markdown, GIFT, Aiken, XML, YAML and spreadsheets treat as their own.
NASTY = (
    "a~b=c#d{E}f:g", "{=right ~wrong}", "-> here", "::name::", "// no comment", "$CATEGORY: x", "ANSWER: B", "A. one",
    "B) two", "100%", "%50%half", "\\~ \\= \\n \\\\", "<b>bold</b>", "<script>alert(1)</script>", "&amp; &lt; & <",
    "]]>",
    "<![CDATA[x", "*stars* and _lines_", "**b**", "`code`", "``a`b``", "[link](x)", "look! (x)", "# head", "> quote",
    "- item", "1. one", "2) two", "+ plus", "---", "===", "~~~", "```", "$x^2$", "$5 and $6", "$$y_1$$", "'\"", "@at",
    "=1+1", "|a|b|", "null", "yes", "1e3", "é ß 漢字 🙂", "שלום", "map_by", "a*b*c", "2 * 3 * 4", "snake_case_name",
    "T", "TRUE", "#3:1", "1..5", "*", "a*", "[html]text", "[markdown]", "@@PLUGINFILE@@/x", "a&nbsp;b", "http://x.org/a_b",
)  # fmt: skip
_LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co", "Zl", "Zp"))


def lines() -> st.SearchStrategy[str]:
    """One line of text, not empty."""
    pieces = st.sampled_from(NASTY) | st.text(_LETTERS, max_size=8) | st.sampled_from(["word", "of", "ranks", "16"])
    joined = st.lists(pieces, min_size=1, max_size=4).map(" ".join)
    return joined.map(lambda text: " ".join(text.split())).filter(bool)


def markdown() -> st.SearchStrategy[str]:
    """A few lines or paragraphs."""
    parts = st.lists(lines() | st.just("```\nfor i in x:\n    a = {i}\n```"), min_size=1, max_size=3)
    return st.tuples(parts, st.sampled_from(["\n", "\n\n"])).map(lambda given: given[1].join(given[0]))


def numbers() -> st.SearchStrategy[float]:
    small_and_large = st.sampled_from([5e-5, -2.5e-9, 1 / 3, 1e17, 6.02e23, 1e-30])
    return st.integers(-1000, 1000).map(float) | st.decimals(-10_000, 10_000, places=3).map(float) | small_and_large


def _unlike(texts: st.SearchStrategy[str], least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(texts, min_size=least, max_size=most, unique_by=lambda text: " ".join(text.split()))


def _some(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | value


@st.composite
def _common(draw: st.DrawFn, id: str, type: str) -> dict[str, Any]:
    given = {
        "id": id,
        "type": type,
        "text": draw(markdown()),
        "explanation": draw(st.just("") | markdown()),
        "points": draw(_some(st.sampled_from([0, 0.5, 1, 2, 100]))) if type != "poll" else None,
        "seconds": draw(_some(st.integers(5, 3600))),
        "tags": draw(st.lists(lines(), max_size=2, unique=True)),
        "source": draw(st.just("") | lines()),
        "shuffle": draw(_some(st.booleans())),
        "check": draw(st.sampled_from(["", "answer = 1 + 1"])),
    }
    if draw(st.booleans()):
        given["picture"] = {"file": "picture.png", "alt": draw(lines())}
    return given


def _tolerance() -> st.SearchStrategy[dict[str, float]]:
    return st.sampled_from([{"absolute": 0}, {"absolute": 0.5}, {"relative": 0.1}, {"relative": 0}])


@st.composite
def questions(draw: st.DrawFn, id: str = "question", types: tuple[str, ...] = TYPES) -> dict[str, Any]:
    """A question as a deck's file has it; those with numbers name them in their text."""
    type = draw(st.sampled_from(types))
    given = draw(_common(id, type))
    match type:
        case "single" | "multiple" | "poll":
            texts = draw(_unlike(markdown(), 2, 5))
            given["options"] = [{"text": text} for text in texts]
            if type != "poll":
                rights = draw(
                    st.lists(st.sampled_from(range(len(texts))), min_size=1, max_size=len(texts), unique=True)
                )
                for number, option in enumerate(given["options"]):
                    option["right"] = number in (rights[:1] if type == "single" else rights)
                    option["feedback"] = draw(st.just("") | markdown())
        case "number":
            given |= {"tolerance": draw(_tolerance()), "unit": draw(st.sampled_from(["", "MB/s", "%", "=x~"]))}
            given["near"] = [
                {"answer": answer, "feedback": draw(markdown())}
                for answer in draw(st.lists(numbers(), max_size=2, unique=True))
            ]
            given["answer"] = draw(numbers())
            if draw(st.booleans()):
                given["numbers"] = {"ranks": {"values": [2, 4, 8]}, "size": {"low": 1, "high": 3, "step": 0.5}}
                given["answer"] = draw(st.sampled_from(["ranks * size", "size / ranks", "2 * ranks"]))
                given["text"] = "{ranks} of {size}\n\n" + given["text"]
        case "order":
            given["items"] = draw(_unlike(markdown(), 3, 5))
        case "match":
            lefts, rights = draw(_unlike(markdown(), 2, 4)), draw(_unlike(markdown(), 4, 6))
            given["pairs"] = [{"left": left, "right": right} for left, right in zip(lefts, rights, strict=False)]
            given["extra"] = rights[len(lefts) :]
        case "text":
            accept = draw(_unlike(lines(), 1, 4))
            split = draw(st.integers(1, len(accept)))
            given["accept"] = accept[:split]
            given["near"] = [{"accept": [text], "feedback": draw(markdown())} for text in accept[split:]]
        case "predict":
            given["runs"] = {
                "one": {"workload": "kmeans", "placement": {"ranks": 1}},
                "two": {"workload": "kmeans", "params": {"data": "blobs"}, "placement": {"ranks": 2}},
            }
            given |= draw(
                st.sampled_from(
                    [
                        {"truth": "one.seconds / two.seconds", "tolerance": {"relative": 0.2}},
                        {"truth": "argmax(two.waits)", "kind": "rank"},
                    ]
                )
            )
        case "place":
            given |= {"machine": "2x4x2", "given": {"ranks": 4}, "ask": ["map_by", "bind_to"]}
            given["right"] = {"map_by": "package", "bind_to": "core"}
            given["near"] = [{"placement": {"map_by": "core"}, "feedback": draw(markdown())}]
    return given


@st.composite
def decks(draw: st.DrawFn, types: tuple[str, ...] = TYPES, most: int = 4) -> Deck:
    """A valid deck."""
    count = draw(st.integers(1, most))
    return Deck.model_validate(
        {
            "deck": draw(st.sampled_from(["kmeans", "a-b-2"])),
            "title": draw(lines()),
            "lab": draw(st.sampled_from(["", "kmeans"])),
            "about": draw(st.just("") | markdown()),
            "points": draw(st.sampled_from([1, 2.5])),
            "seconds": draw(st.sampled_from([60, 90])),
            "shuffle": draw(st.booleans()),
            "questions": [draw(questions(f"question-{number}", types)) for number in range(count)],
        }
    )
