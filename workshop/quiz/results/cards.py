"""The results of a round as cards: `summary` for a terminal, `cards` with each question for the class report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

from workshop.core import words as say
from workshop.quiz import rendering
from workshop.quiz.results.comparison import RoundComparison
from workshop.quiz.results.findings import RoundFindings
from workshop.quiz.results.items import Item
from workshop.quiz.results.record import Results
from workshop.quiz.types.rows import AnswerChoice
from workshop.report import cards as parts
from workshop.report.cards import Card, Part, bar, line, table, words

TOPICS = 8  # columns of tags that fit on a page of paper
BINS = 10  # of a histogram


def head(results: Results) -> str:
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(results.began))
    counts = f"{say.count(len(results.players), 'learner')}, {say.count(len(results.question_ids), 'question')}"
    return f"Round {results.round}, begun {when}: {counts}."


def cards(findings: RoundFindings) -> list[Card]:
    questions = [_question(findings.results, item) for item in findings.items]
    return [*summary(findings), *questions, _counting(findings)]


def summary(findings: RoundFindings) -> list[Card]:
    """The cards about the whole round. Those without a content are left out."""
    notes = words(*(line(note, tone="note") for note in findings.results.notes))
    all_cards = [
        parts.verdict(findings.verdict),
        Card("notes", "", (notes,) if notes["lines"] else ()),
        _revision(findings),
        _comparison(findings.comparison) if findings.comparison is not None else Card("comparison", "", ()),
        _overview(findings),
        _learners(findings),
    ]
    return [card for card in all_cards if card.parts]


def _revision(findings: RoundFindings) -> Card:
    lines = []
    for item in findings.revision:
        lines.append(line(f"{item.number}. {item.text}", tone="message"))
        for reason in item.reasons:
            lines.append(line(reason.words))
            lines += [line(reason.say, "What to say:")] if reason.say else []
    nothing = line("Nothing: no question was hard, misleading or slow enough to say something of.")
    return Card("revision", "To go over again", (words(*lines or [nothing]),) if findings.results.answers else ())


def _comparison(comparison: RoundComparison) -> Card:
    learners = say.count(comparison.both, "learner")
    about = f"Round {comparison.before} and round {comparison.after}, for {learners} who took part in both."
    rows = [
        (
            change.text,
            f"{change.before} of {change.of}",
            f"{change.after} of {change.of}",
            "–" if change.change is None else f"{100 * change.change:+.0f}",
            change.words,
        )
        for change in comparison.changes
    ]
    heads = ("Question", "Right before", "Right after", "Change in points of 100", "What that says")
    text = words(line(about), *(line(note, tone="note") for note in comparison.notes))
    return Card("comparison", "Before and after", (text, table(heads, rows)) if rows else (text,))


def _overview(findings: RoundFindings) -> Card:
    """A row for each question: right answers, times and discrimination."""
    rows = [
        (
            f"{item.number}. {item.text}",
            _share(item, findings.results.deck.question(item.id).marked),
            f"{item.answered} of {item.there}",
            "–" if item.seconds is None else say.seconds(item.seconds.median),
            "–" if item.discrimination.value is None else f"{item.discrimination.value:.2f}",
        )
        for item in findings.items
    ]
    heads = ("Question", "Right", "Answered", "Median time", "Discrimination")
    return Card("questions", "Questions", (table(heads, rows),) if rows else ())


def _share(item: Item, marked: bool) -> str | Part:
    if item.share is None or item.interval is None:
        return "–" if marked else "nothing is right here"
    low, high = map(say.percent, item.interval)
    text = f"{say.percent(item.share)} ({item.right} of {item.judged}; 95 %: {low} to {high})"
    return bar(item.share, text, "good")


def _learners(findings: RoundFindings) -> Card:
    numbers = {item.id: str(item.number) for item in findings.items}
    rows = [
        (
            learner.nickname,
            f"{round(learner.points, 1):g} of {round(learner.possible, 1):g}",
            f"{learner.right} of {learner.judged}",
            f"{learner.answered} of {learner.there}",
            "–" if learner.seconds is None else say.seconds(learner.seconds),
            ", ".join(map(numbers.__getitem__, learner.wrong)) or "–",
            ", ".join(map(numbers.__getitem__, learner.missed)) or "–",
        )
        for learner in findings.learners
    ]
    people = table(("Learner", "Points", "Right", "Answered", "Median time", "Wrong", "Missed"), rows)
    needs = [line(need.words, "May need help:") for need in findings.help]
    if needs:
        needs.append(line("A few questions are no measure of somebody: ask how they are getting on.", tone="about"))
    shares = [100 * learner.share for learner in findings.learners if learner.share is not None]
    histogram = [_histogram(shares, "% of the marks", "learners", 0.0, 100.0)] if len(shares) > 2 else []
    contents = (words(*needs), people, *_tags(findings), *histogram)
    return Card("learners", "Learners", contents if rows else ())


def _tags(findings: RoundFindings) -> Iterable[Part]:
    """A table of marks by tag, if there are several tags: the tags with most questions, in order of appearance."""
    counts = Counter(tag for question in findings.results.questions if question.marked for tag in question.tags)
    most = {tag for tag, _ in counts.most_common(TOPICS)}
    names = [tag for tag in counts if tag in most]
    if len(names) < 2:
        return
    rows = []
    for learner in findings.learners:
        marks = {tag.name: say.percent(tag.mark) for tag in learner.tags}
        rows.append((learner.nickname, *(marks.get(tag, "–") for tag in names)))
    yield words(line("Marks by topic", tone="label"))
    yield table(("Learner", *names), rows)
    if len(counts) > TOPICS:
        yield words(line("Topics with fewer questions are in the workbook.", tone="about"))


def _histogram(values: Sequence[float], axis: str, counted: str, low: float, high: float) -> Part:
    """How many values are in each of some equal ranges."""
    span = high / 2 - low / 2 or 1.0  # halves don't overflow, for instance with answers 1e308 and -1e308
    counts = Counter(min(int((value / 2 - low / 2) / span * BINS), BINS - 1) for value in values)
    edges = [2 * (low / 2 + span * place / BINS) for place in range(BINS)] + [high]
    most = max(counts.values())
    rows = [
        (f"{edges[place]:.4g} to {edges[place + 1]:.4g}", bar(counts[place] / most, str(counts[place])))
        for place in range(BINS)
    ]
    return table((axis, counted), rows)


def _question(results: Results, item: Item) -> Card:
    """One question, with its statistics, its answers and remarks."""
    question = results.deck.question(item.id)
    figures = [f"{item.answered} of {item.there} answered"]
    if item.share is not None and item.interval is not None:
        low, high = map(say.percent, item.interval)
        figures.append(f"{say.percent(item.share)} right (95 %: {low} to {high})")
    if item.mark is not None and item.share is not None and abs(item.mark - item.share) > 0.005:
        figures.append(f"{say.percent(item.mark)} of the marks")
    if item.points is not None:
        figures.append(f"mean points {item.points:.2g} of {item.worth:.4g}")
    if item.seconds is not None:
        low, middle, high = (say.seconds(time) for time in (item.seconds.low, item.seconds.median, item.seconds.high))
        figures.append(f"median time {middle} (half between {low} and {high})")
    value = f" {item.discrimination.value:.2f}." if item.discrimination.value is not None else ":"
    remarks = [line(remark) for remark in item.remarks]
    if question.marked:
        remarks.append(line(f"Discrimination{value} {item.discrimination.words}", tone="about"))
    contents = (
        parts.markup(rendering.html(question.text, results.numbers.get(item.id))),
        words(line(f"{'; '.join(figures)}.")),
        *_spread(results, item),
        *_chosen(item),
        *_first_vote(item),
        words(*remarks),
    )
    return Card(f"question-{item.number}", f"Question {item.number}", contents)


def _spread(results: Results, item: Item) -> Iterable[Part]:
    """The histogram of the answers' numbers; nothing if they can't be compared."""
    question, truth = results.deck.question(item.id), results.truths.get(item.id)
    values = question.spread(results)
    if len(set(values)) < 3:
        return
    ends = values if truth is None else [*values, truth]
    yield _histogram(values, "Answer", "Learners", min(ends), max(ends))
    if truth is not None:
        yield words(line(f"{truth:.6g} {question.unit}".strip(), "Right:"))


def _first_vote(item: Item) -> Iterable[Part]:
    """The answers of the first vote beneath those of the second one, and what changed between them."""
    votes = sum(row.count for row in item.first)
    if votes:
        yield words(line("First vote, before the class talked", tone="label"))
        yield table(("", "Answer", "Chosen by"), [_answer(row, votes, False) for row in item.first])
    if item.gain is not None:
        yield words(line(item.gain.words))


def _chosen(item: Item) -> Iterable[Part]:
    if not item.answered:
        return
    grouped = any(row.upper is not None for row in item.chosen)
    heads = ("", "Answer", "Chosen by", *(("Upper", "Lower") if grouped else ()))
    yield table(heads, [_answer(row, item.answered, grouped) for row in item.chosen])
    if grouped:
        yield words(line(item.groups, tone="about"))


def _answer(row: AnswerChoice, answered: int, grouped: bool) -> Sequence[str | Part]:
    labels = dict.fromkeys((row.label, "right") if row.right else (row.label,))
    chosen = bar(row.count / answered, str(row.count), "good" if row.right else "" if row.right is None else "calm")
    return (", ".join(labels), row.text, chosen, *((str(row.upper), str(row.lower)) if grouped else ()))


def _counting(findings: RoundFindings) -> Card:
    groups = list(dict.fromkeys(item.groups for item in findings.items))
    lines = (
        "Shares are of the learners who answered: a missing answer isn't wrong there, but gives no marks in the score.",
        "Ranges behind shares are 95 % intervals of Wilson: the share of similar learners may be anywhere in them.",
        "Discrimination is the correlation of a question's mark with the score on the other questions, from -1 to 1 "
        "(point-biserial, where there is nothing between right and wrong).",
        *(groups if len(groups) == 1 else ()),
        "Learners whose data was removed are in none of these figures.",
    )
    return Card("counting", "How this is counted", (words(*(line(text, tone="about") for text in lines)),))
