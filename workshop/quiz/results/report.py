"""The class report: one HTML page that needs no script and asks nobody for anything, with figures as SVG."""

from __future__ import annotations

import base64
import hashlib
import time
from collections import Counter
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files

from workshop.core import words as say
from workshop.quiz.results import sections
from workshop.quiz.results.findings import RoundFindings
from workshop.quiz.results.learners import LearnerResult
from workshop.quiz.results.revision import RevisionItem
from workshop.quiz.results.sections import name, table

TOPICS = 8  # tags that a page of paper has room for


def write(found: RoundFindings) -> bytes:
    """The report as a file."""
    return frame(f"Results: {found.results.title}", body(found)).encode("utf-8", "replace")


def frame(title: str, body: str) -> str:
    """A page in the report's look. It says itself that nothing may be loaded or run."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style()}</style></head><body>{body}</body></html>\n"
    )


@cache
def style() -> str:
    return (files("workshop.quiz.results") / "report.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """What a browser may do with such a page: apply its one style sheet."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'"


def body(found: RoundFindings, tools: str = "") -> str:
    """What stands on the page; `tools` is HTML that belongs under its heading."""
    results = found.results
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(results.began))
    asked = say.count(len(results.asked), "question")
    head = f"Round {results.round}, begun {when}: {say.count(len(results.players), 'learner')}, {asked}."
    made = (
        _verdict(found),
        *(f'<p class="note">{escape(note)}</p>' for note in results.notes),
        _again(found),
        sections.comparison(found.comparison) if found.comparison is not None else "",
        sections.overview(found),
        _learners(found),
        "<h2>Question by question</h2>" if found.items else "",
        *(sections.question(results, item) for item in found.items),
        _counted(found),
    )
    return (
        f'<header><h1>Results: {escape(results.title)}</h1><p class="about">{escape(head)}</p>{tools}</header>'
        f"<main>{''.join(made)}</main>"
    )


def _verdict(found: RoundFindings) -> str:
    told = found.verdict
    return (
        f'<section class="card verdict"><h2>{escape(told["verdict"])}</h2>'
        f'<p><span class="label">Why</span> {escape(told["why"])}</p>'
        f'<p><span class="label">Next</span> {escape(told["next"])}</p></section>'
    )


def _again(found: RoundFindings) -> str:
    if not found.results.answers:
        return ""
    heading = "<h2>To go over again</h2>"
    if not found.again:
        return f"{heading}<p>Nothing: no question was hard, misleading or slow enough to say something of.</p>"

    def reasons(one: RevisionItem) -> Iterable[str]:
        for reason in one.reasons:
            yield f"<p>{escape(reason.words)}</p>"
            if reason.say:
                yield f'<p><span class="label">What to say</span> {escape(reason.say)}</p>'

    listed = "".join(
        f"<li><h3>{one.number}. {escape(one.text)}</h3>{''.join(reasons(one))}</li>" for one in found.again
    )
    return f'{heading}<ol class="again">{listed}</ol>'


def _learners(found: RoundFindings) -> str:
    if not found.learners:
        return ""
    numbers = {item.id: item.number for item in found.items}
    rows = [_learner(one, numbers) for one in found.learners]
    shares = [one.share for one in found.learners if one.share is not None]
    drawn = (
        sections.spread(shares, "marks of learners", 0.0, 1.0, "0 %", "100 % of the marks") if len(shares) > 2 else ""
    )
    wanted = "".join(f"<li>{escape(one.words)}</li>" for one in found.help)
    help_ = (
        f"<h3>May need help</h3><ul>{wanted}</ul>"
        '<p class="quiet">A few questions are no measure of somebody: ask how they are getting on.</p>'
        if wanted
        else ""
    )
    figures = (("Points", "number"), ("Right", "number"), ("Answered", "number"), ("Median time", "number"))
    people = table((("Learner", "name"), *figures, ("Wrong", ""), ("Missed", "")), rows)
    return f"<h2>Learners</h2>{drawn}{help_}{people}{_tags(found)}"


def _learner(one: LearnerResult, numbers: dict[str, int]) -> tuple[str, ...]:
    def named(ids: Iterable[str]) -> str:
        return ", ".join(str(numbers[id]) for id in ids) or "–"

    return (
        name(one.nickname),
        f"{one.points:.3g} of {one.possible:.4g}",
        f"{one.right} of {one.judged}",
        f"{one.answered} of {one.there}",
        "–" if one.seconds is None else escape(say.seconds(one.seconds)),
        named(one.wrong),
        named(one.missed),
    )


def _tags(found: RoundFindings) -> str:
    """Marks by tag, where there is more than one: those with most questions, in the order in which they came."""
    asked = Counter(tag for item in found.items for tag in item.tags if item.type != "poll")
    most = {tag for tag, _ in asked.most_common(TOPICS)}
    names = [tag for tag in asked if tag in most]
    if len(names) < 2:
        return ""
    others = "" if len(asked) <= TOPICS else '<p class="quiet">Topics with fewer questions are in the workbook.</p>'
    rows = []
    for one in found.learners:
        marks = {tag.name: say.percent(tag.mark) for tag in one.tags}
        rows.append((name(one.nickname), *(marks.get(tag, "–") for tag in names)))
    marked = table((("Learner", "name"), *((tag, "number") for tag in names)), rows)
    return f"<h3>Marks by topic</h3>{marked}{others}"


def _counted(found: RoundFindings) -> str:
    groups = list(dict.fromkeys(item.groups for item in found.items))
    lines = (
        "Shares are of those who answered; who didn't isn't counted as wrong there, and has no marks in the score.",
        "Lines on bars are 95 % intervals of Wilson: what the share may be for other learners like these.",
        "Discrimination is the correlation of a question's mark with the score on the other questions, from -1 to 1 "
        "(point-biserial, where there is nothing between right and wrong).",
        *(groups if len(groups) == 1 else ()),
        "Whoever had their data removed is in none of these figures.",
    )
    return f'<h2>How this is counted</h2><ul class="quiet">{"".join(f"<li>{escape(one)}</li>" for one in lines)}</ul>'
