"""What is exported for jupyterquiz, as its own script shows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jupyterquiz.dynamic import loader, renderer
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.quiz.decks import NASTY
from workshop.quiz import rendering
from workshop.quiz.deck import Deck
from workshop.quiz.formats import write
from workshop.quiz.reader import read, shipped

CODE = "```python\nif a < b:\n    print('$a')\n```"


def deck(*questions: dict[str, Any]) -> Deck:
    named = [{"id": f"q-{number}", **question} for number, question in enumerate(questions, 1)]
    return Deck.model_validate({"deck": "one", "title": "One", "questions": named})


def show(page: Page, shown: Deck, folder: Path) -> Locator:
    """The questions, as a notebook that was made a web page holds them: the script stands in the page's HTML."""
    file = folder / "deck.json"
    file.write_bytes(write(shown, "jupyterquiz").data)
    script, static, url = loader.load_questions_script(str(file), "quiz")
    script = renderer.build_script(script, static, url, "quiz", True)
    place = renderer.render_div("quiz", False, False, False, 1_000_000, 600, 10, "left")
    page.set_content(f"{place}</div>{renderer.build_styles('quiz', {})}<script>{script}</script>")
    return page.locator(".Quiz[data-qnum]")


def answer(question: Locator, typed: str) -> Locator:
    """Type an answer; what the script says of it."""
    field = question.locator("input[type=text]")
    field.focus()
    field.press_sequentially(typed)
    field.press("Enter")
    return question.locator(".Feedback")


def characters(text: str) -> str:
    """What somebody reads, without spaces and the marks of formulas."""
    return re.sub(r"\s|\$|\\[()\[\]]", "", text)


@pytest.mark.parametrize(
    ("right", "tolerance", "typed", "wrong"),
    [
        (8.0, {"relative": 0.1}, ["8", "7.2", "8.8", "32/4"], ["7.19", "8.81"]),
        (0.8, {"absolute": 0.1}, ["0.7", "0.8", "0.9"], ["0.69", "0.91"]),
        (3.0, {"absolute": 0}, ["3", "3.0"], ["3.1"]),
        (5e-5, {"relative": 0.5}, ["5e-5", "0.00005", "0.000075"], ["5"]),
    ],
)
def test_numbers_are_right_within_their_tolerance(
    new_page: NewPage, tmp_path: Path, right: float, tolerance: dict[str, float], typed: list[str], wrong: list[str]
) -> None:
    near = [{"answer": 16, "tolerance": {"absolute": 1}, "feedback": "Half of *it*."}]
    question = {"type": "number", "text": "How many?", "answer": right, "tolerance": tolerance, "near": near}
    (shown,) = show(new_page(), deck(question), tmp_path).all()
    for one in typed:
        expect(answer(shown, one), one).to_have_text("Correct.")
        expect(shown.locator(".Feedback"), one).to_contain_class("correct")
    for one in wrong:
        expect(answer(shown, one), one).to_contain_class("incorrect")
    expect(answer(shown, "17")).to_have_text("Half of it.")
    expect(shown.locator(".Feedback")).to_contain_class("incorrect")


def test_texts_are_shown_as_they_are_meant(new_page: NewPage, tmp_path: Path) -> None:
    options = [{"text": f"It is\n\n{CODE}", "right": True, "feedback": "`x` costs $5 or $6."}, {"text": CODE}]
    single = {"type": "single", "text": f"What is **this**, $x_1$?\n\n{CODE}", "options": options}
    middle = {
        "type": "text",
        "text": f"{CODE}\n\nA [page](https://x.org/$a) and [x](y",
        "accept": ["</script>", "a  b"],
    }
    first, second = show(new_page(), deck(single, middle), tmp_path).all()
    expect(first.locator("strong")).to_have_text("this")
    expect(first.locator("> div").first).to_contain_text(r"\(x_1\)")
    expect(first.locator(".QuizCode")).to_have_count(3)
    for block in first.locator(".QuizCode code").all():
        assert block.text_content() == "if a < b:\n    print('$a')"
    buttons = first.locator("label")
    buttons.first.click()
    expect(first.locator(".Feedback")).to_have_text("x costs $5 or $6.")
    expect(first.locator(".Feedback code")).to_have_text("x")
    expect(second.locator("pre code")).to_have_text("if a < b:\n    print('$a')\n")
    expect(second.locator("a")).to_have_attribute("href", "https://x.org/$a")
    assert second.locator("a").get_attribute("target") == "_blank"
    for form in ("</script>", "A B"):
        expect(answer(second, form)).to_have_text("Correct")


def test_characters_with_a_meaning_are_shown_as_text(new_page: NewPage, tmp_path: Path) -> None:
    texts = [*NASTY, *(f"{first} {second}" for first, second in zip(NASTY, NASTY[7:], strict=False))]
    options = [{"text": "a", "right": True}, {"text": "b"}]
    questions = [{"type": "single", "text": text, "options": options} for text in texts]
    found = show(new_page(), deck(*questions), tmp_path).all()
    assert len(found) == len(texts)
    for text, question in zip(texts, found, strict=True):
        said = question.locator("> div").first.text_content()
        assert characters(said or "") == characters(rendering.plain(text)), text


def test_the_labs_decks_are_shown(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    for path in shipped().values():
        shown = read(path)
        carried = [one for one in shown.questions if one.type in ("single", "multiple", "number", "text")]
        expect(show(page, shown, tmp_path)).to_have_count(len(carried))
        page.eval_on_selector_all("label.MCButton", "options => options.forEach((option) => option.click())")
        told = page.locator(".Quiz:has(label.MCButton) .Feedback").all_text_contents()
        assert told and all(told)
