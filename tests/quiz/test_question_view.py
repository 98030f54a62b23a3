"""Questions as people get them: shuffled, with numbers of their own, without what would tell the answer, and answers on
their way to the store and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quiz import nine
from tests.quiz.asked import answer, grade, raw, shown, solution
from tests.quiz.decks import decks, questions
from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck, ask
from workshop.quiz.parts import Picture, combinations
from workshop.quiz.types import DrawnQuestion

SEEDS = st.text("abc123", min_size=1, max_size=6)


def address(picture: Picture) -> str:
    return f"/picture/{picture.file}"


def deck_of(question: dict[str, Any], **more: Any) -> Deck:
    return Deck.model_validate({"deck": "d", "title": "t", "questions": [question], **more})


def asked(question: dict[str, Any], seed: str = "s") -> DrawnQuestion:
    deck = deck_of({"id": "q", "text": "?", **question})
    return ask(deck, deck.questions[0], seed)


@settings(max_examples=30, deadline=None)
@given(decks(), SEEDS)
def test_what_is_shown_is_json_and_the_same_for_the_same_seed(deck: Deck, seed: str) -> None:
    for question in deck.questions:
        first, again = ask(deck, question, seed), ask(deck, question, seed)
        assert first == again
        document = shown(first, address)
        assert json.loads(json.dumps(document)) == document == shown(again, address)
        assert {"id", "type", "html", "picture", "points", "seconds", "source"} <= document.keys()
        later = solution(first, 2.0)
        assert json.loads(json.dumps(later)) == later
        assert {"html", "explanation"} <= later.keys()


@settings(max_examples=80, deadline=None)
@given(questions(types=("single", "multiple")), SEEDS)
def test_feedback_is_that_of_the_option_that_was_shown_under_that_letter(question: dict[str, Any], seed: str) -> None:
    texts = [f"option number {number}" for number in range(len(question["options"]))]
    for number, option in enumerate(question["options"]):
        option |= {"text": texts[number], "feedback": f"feedback of {number}."}
    deck = deck_of(question)
    one = ask(deck, deck.questions[0], seed)
    places = shown(one, address)["options"]
    assert sorted(place["html"] for place in places) == sorted(f"<p>{text}</p>" for text in texts)
    told = {entry["key"]: entry for entry in solution(one)["options"]}
    for place in places:
        number = int(place["html"].removesuffix("</p>").rpartition(" ")[2])
        sent = place["key"] if question["type"] == "single" else [place["key"]]
        mark = grade(one, answer(one, sent))
        assert mark.feedback[0] == f"<p>feedback of {number}.</p>" == told[place["key"]]["feedback"]
        assert told[place["key"]]["right"] is deck.questions[0].options[number].right
        assert (place["key"] in solution(one)["keys"]) == deck.questions[0].options[number].right
        if question["type"] == "single":
            assert mark.right is deck.questions[0].options[number].right


@settings(max_examples=60, deadline=None)
@given(questions(types=("order", "match")), SEEDS)
def test_orders_and_matches_are_found_again_under_their_letters(question: dict[str, Any], seed: str) -> None:
    deck = deck_of(question)
    one = ask(deck, deck.questions[0], seed)
    later = solution(one)
    if question["type"] == "order":
        assert one.order != tuple(sorted(one.order)), "never shown in the right order"
        assert grade(one, answer(one, later["order"])).right is True
        as_shown = [item["key"] for item in shown(one, address)["items"]]
        assert grade(one, answer(one, as_shown)).right is False
    else:
        assert grade(one, answer(one, later["match"])).right is True
        wrong = dict(zip(later["match"], reversed(later["match"].values()), strict=True))
        assert grade(one, answer(one, wrong)).right is (wrong == later["match"])


@settings(max_examples=60, deadline=None)
@given(questions(types=("single", "multiple", "order", "match", "text", "number", "predict")), SEEDS, st.data())
def test_nothing_that_is_shown_tells_the_answer(question: dict[str, Any], seed: str, data: st.DataObject) -> None:
    """Two decks that differ in what is right, and in all that is said afterwards, look the same."""
    other = json.loads(json.dumps(question)) | {"explanation": "Something else.", "check": "answer = 2", "tags": ["t"]}
    match question["type"]:
        case "single" | "multiple":
            rights = data.draw(st.permutations([option["right"] for option in question["options"]]))
            for option, right in zip(other["options"], rights, strict=True):
                option |= {"right": right, "feedback": "Something else."}
        case "order":
            other["items"] = data.draw(st.permutations(question["items"]))
        case "match":
            rights = data.draw(
                st.permutations([*(pair["right"] for pair in question["pairs"]), *question.get("extra", [])])
            )
            other["pairs"] = [pair | {"right": right} for pair, right in zip(question["pairs"], rights, strict=False)]
            other["extra"] = rights[len(question["pairs"]) :]
        case "text":
            other |= {"accept": ["elsewhere"], "near": []}
        case "number":
            other |= {"answer": 12345.0, "near": [], "tolerance": {"absolute": 7}}
        case "predict":
            other |= {"truth": "two.other", "tolerance": {"absolute": 7}}
    first, second = deck_of(question), deck_of(other)
    one, two = ask(first, first.questions[0], seed), ask(second, second.questions[0], seed)
    if question["type"] == "order":  # which is drawn anew where it would begin in the right order
        texts = [[one.question.items[number] for number in one.order], [two.question.items[n] for n in two.order]]
        if texts[0] == list(two.question.items) or texts[1] == list(one.question.items):
            return
    assert shown(one, address) == shown(two, address)


def test_a_placement_that_is_asked_for_shows_nothing_of_what_is_right() -> None:
    question = {
        "type": "place",
        "given": {"ranks": 2, "environment": {"A": "1"}},
        "ask": ["map_by", "per_resource", "oversubscribe"],
        "right": {"map_by": "package", "per_resource": 1},
        "near": [{"placement": {"map_by": "core"}, "feedback": "secret"}],
    }
    one = asked(question)
    other = asked(question | {"right": {"map_by": "numa", "per_resource": 2}, "near": []})
    assert shown(one, address) == shown(other, address)
    fields = {field["name"]: field for field in shown(one, address)["fields"]}
    assert fields["map_by"]["kind"] == "choice" and "package" in fields["map_by"]["choices"]
    assert fields["per_resource"] | {"help": ""} == {
        "name": "per_resource",
        "label": "ranks on each such resource",
        "help": "",
        "kind": "int",
        "least": 1,
        "most": 64,
        "value": None,
    }
    assert fields["oversubscribe"]["kind"] == "yesno" and fields["oversubscribe"]["value"] is False
    assert shown(one, address)["given"] == "ranks 2, environment A=1" and shown(one, address)["machine"] == "2x4x2"
    assert solution(one)["command"] == "mpirun -n 2 --map-by ppr:1:package --bind-to core"


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_right_and_wrong_answers_to_each_type(seed: str) -> None:
    for question in nine.DECK.questions:
        if question.type in ("poll", "place"):
            continue
        one = ask(nine.DECK, question, seed)
        for wrong in (False, True):
            kept = answer(one, nine.right(shown(one, address), wrong))
            assert json.loads(json.dumps(kept)) == kept
            assert answer(one, raw(one, kept)) == kept, "what was answered can be shown again"
            assert grade(one, kept, 3.0).right is not wrong


def test_every_order_comes_up_and_only_where_it_may() -> None:
    options = {"options": [{"text": text, "right": text == "a"} for text in "abc"]}
    orders = {asked({"type": "single", **options}, f"{seed}").order for seed in range(80)}
    assert len(orders) == 6
    assert asked({"type": "single", "shuffle": False, **options}).order == (0, 1, 2)
    deck = deck_of({"id": "q", "text": "?", "type": "single", **options}, shuffle=False)
    assert {ask(deck, deck.questions[0], f"{seed}").order for seed in range(20)} == {(0, 1, 2)}
    items = {
        asked({"type": "order", "shuffle": False, "items": ["x", "y", "z"]}, f"{seed}").order for seed in range(80)
    }
    assert len(items) == 5 and (0, 1, 2) not in items


def test_numbers_are_drawn_from_their_ranges() -> None:
    question = {
        "type": "number",
        "text": "{a} {b} {c}",
        "answer": "a + b + c",
        "numbers": {
            "a": {"values": [2, 3]},
            "b": {"low": 0.1, "high": 0.5, "step": 0.1},
            "c": {"low": -2, "high": 3, "step": 2},
        },
    }
    drawn = [asked(question, f"{seed}").numbers for seed in range(120)]
    assert {numbers["a"] for numbers in drawn} == {2, 3}
    assert {numbers["b"] for numbers in drawn} == {0.1, 0.2, 0.3, 0.4, 0.5}
    assert {numbers["c"] for numbers in drawn} == {-2, 0, 2}
    one = asked(question, "x")
    assert shown(one, address)["html"] == "<p>{a:g} {b:g} {c:g}</p>".format(**one.numbers)
    assert solution(one)["value"] == pytest.approx(sum(one.numbers.values()))
    everything = list(combinations(one.question.numbers))
    assert len(everything) == 2 * 5 * 3 and all(numbers in everything for numbers in drawn)


OPTIONS = {"options": [{"text": "x", "right": True}, {"text": "y"}, {"text": "z"}]}
ITEMS = {"items": ["x", "y", "z"]}
PAIRS = {"pairs": [{"left": "1", "right": "x"}, {"left": "2", "right": "y"}], "extra": ["z"]}
RUNS = {
    "runs": {
        "one": {"workload": "kmeans", "placement": {"ranks": 1}},
        "four": {"workload": "kmeans", "placement": {"ranks": 4}},
    },
    "truth": "argmax(four.waits)",
    "kind": "rank",
}
PLACE = {"ask": ["ranks", "map_by", "per_resource", "oversubscribe"], "right": {"ranks": 2}}


@pytest.mark.parametrize(
    ("type", "parts", "given", "said"),
    [
        ("single", OPTIONS, "d", "'d' is none of the answers; it should be one of a, b and c."),
        ("single", OPTIONS, "a" * 10_000, "is none of the answers"),
        ("multiple", OPTIONS, "a", "is no list of what is chosen"),
        ("multiple", OPTIONS, ["a", "a"], "twice"),
        ("multiple", OPTIONS, ["a", "d"], "'d' is none of the answers"),
        ("order", ITEMS, ["a", "b"], "2 are in order; it should be all 3."),
        ("match", PAIRS, {"1": "a"}, "should say for each of 1 and 2 what belongs to it"),
        ("match", PAIRS, {"1": "a", "2": "d"}, "'d' is none of the answers"),
        ("number", {"answer": 1}, "one", "is no number"),
        ("text", {"accept": ["x"]}, 5, "is no text"),
        ("text", {"accept": ["x"]}, "x" * 10_000, "has 10000 characters"),
        ("predict", RUNS, "4", "A rank of these runs is a whole number from 0 to 3, not 4."),
        ("place", PLACE, "ranks 2", "is no placement"),
        ("place", PLACE, {"hosts": []}, "'hosts' is not asked for; that is ranks, map_by"),
        ("place", PLACE, {"ranks": 65}, "Ranks is a whole number from 1 to 64, not 65."),
        ("place", PLACE, {"map_by": "socket"}, "map by is 'socket'; it should be one of auto, slot"),
        ("place", PLACE, {"oversubscribe": "perhaps"}, "share cores is 'perhaps'; it should be yes or no."),
        ("place", PLACE, {"per_resource": 2}, "per_resource is 2, but of which resource?"),
    ],
)
def test_answers_that_can_not_be(type: str, parts: dict[str, Any], given: Any, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        answer(asked({"type": type, **parts}), given)
    told = str(refused.value)
    assert said in told and "\n" not in told and len(told) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10) | st.sampled_from(["a", "b", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["1", "2", "ranks"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(JSON, st.sampled_from(nine.IDS))
def test_whatever_is_sent_is_an_answer_or_a_sentence(sent: Any, id: str) -> None:
    one = ask(nine.DECK, nine.DECK.question(id), "s")
    try:
        kept = answer(one, sent)
    except BadInput as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert answer(one, raw(one, kept)) == kept


def test_what_will_be_run_is_told_in_words() -> None:
    runs = {"one": {"workload": "kmeans", "params": {"points": 5000}, "placement": {"ranks": 1}}}
    told = shown(asked({"type": "predict", "runs": runs, "truth": "one.seconds", "unit": "s"}), address)
    assert told["runs"] == ["one: k-means (--points 5000), 1 rank × 1 thread"]
    assert (told["unit"], told["whole"]) == ("s", False)
    polls = {"ranks": 1, "environment": {"OMPI_MCA_mpi_yield_when_idle": "0"}}
    one = {"workload": "kmeans", "placement": polls}
    other = asked({"type": "predict", "runs": {"one": one}, "truth": "one.seconds"})
    assert shown(other, address)["runs"][0].endswith("1 rank × 1 thread, OMPI_MCA_mpi_yield_when_idle=0")
    assert solution(other, 3.076923077)["html"] == "<p>3.08</p>"
    rank = asked({"type": "predict", **RUNS})
    assert shown(rank, address)["whole"] is True
    assert solution(rank, 3.0)["html"] == "<p>rank 3</p>" and solution(rank)["value"] is None
