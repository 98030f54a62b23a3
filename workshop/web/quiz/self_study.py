"""Learning alone: /quiz/alone/DECK, a page with a script, and what that one asks. Only for those of the dashboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import catalogue, pictures, self_study
from workshop.quiz.deck import Deck
from workshop.quiz.rendering import html, plain
from workshop.quiz.self_study import QuizLearner, SelfStudy
from workshop.quiz.types import Question
from workshop.store.records import QuizAnswer
from workshop.store.store import Store
from workshop.web import request_body, templates

AT_ONCE = 2  # answers that are judged at a time: the mapper takes a fifth of a second for a placement
LARGEST_MESSAGE = 20_000  # bytes of an answer
ANSWER = "a JSON object with question, answer and attempt"
LINE = 120  # characters of a question in a list
FRESH = {"cache-control": "no-store"}


Act = Callable[["DeckPage", Mapping[str, Any]], dict[str, Any]]


def routes(store: Store) -> list[BaseRoute]:
    turns = CapacityLimiter(AT_ONCE)

    def route(path: str, act: Act, method: str) -> Route:
        async def respond(request: Request) -> Response:
            try:
                values = (
                    await request_body.json_object(request, LARGEST_MESSAGE, ANSWER)
                    if method == "POST"
                    else request.path_params
                )
                limiter = turns if method == "POST" else None
                done = await to_thread.run_sync(_done, store, request, act, values, limiter=limiter)
                return JSONResponse(done, headers=FRESH)
            except WorkshopError as error:
                return JSONResponse({"error": str(error)}, 400, FRESH)

        return Route(f"/quiz/alone/{{deck}}{path}", respond, methods=[method])

    return [
        Route("/quiz/alone/{deck}", _page, methods=["GET"]),
        Route("/quiz/alone/{deck}/picture/{question}", _picture, methods=["GET"]),
        route("/state", lambda page, values: page.state(), "GET"),
        route("/question/{question}", lambda page, values: page.view(values["question"]), "GET"),
        route("/answer", DeckPage.answer, "POST"),
        route("/run", DeckPage.run, "POST"),
        route("/again", lambda page, values: replace(page, study=page.study.start_over()).state(), "POST"),
    ]


@dataclass(frozen=True)
class DeckPage:
    """Somebody at the deck of an address."""

    name: str
    study: SelfStudy

    def state(self) -> dict[str, Any]:
        """How far they are: of each question whether it was answered, and how well."""
        self_study, answers, score = self.study, self.study.answers(), self.study.score()
        return {
            "title": self_study.deck.title,
            "about": html(self_study.deck.about),
            "attempt": self_study.player.attempt,
            "points": round(score.points, 2),
            "of": round(score.total, 2),
            "questions": [
                _place(self_study, question, answers.get(question.id)) for question in self_study.deck.questions
            ],
        }

    def view(self, question: str) -> dict[str, Any]:
        """One question, and the state that it leaves behind: a prediction may have been judged by being looked at."""
        question_view = self.study.view(
            question, lambda question_of_deck, _: f"/quiz/alone/{self.name}/picture/{question_of_deck.id}"
        )
        return {**question_view, "state": self.state()}

    def answer(self, values: Mapping[str, Any]) -> dict[str, Any]:
        question = str(values.get("question"))
        self.study.answer(question, values.get("answer"))
        return self.view(question)

    def run(self, values: Mapping[str, Any]) -> dict[str, Any]:
        question = str(values.get("question"))
        self.study.run(question)
        return self.view(question)


def _place(self_study: SelfStudy, question: Question, answer: QuizAnswer | None) -> dict[str, Any]:
    text = plain(question.text, self_study.variant(question.id).numbers)
    return {
        "id": question.id,
        "text": shorten(text, LINE, placeholder=" …"),
        "answered": answer is not None,
        "judged": answer is not None and answer.share is not None,
        "right": answer.right if answer else None,
        "share": answer.share if answer else None,
    }


def _done(store: Store, request: Request, act: Act, values: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request of the page. Raises WorkshopError."""
    self_study = _attempt(store, request)
    if request.method == "POST" and values.get("attempt") != self_study.player.attempt:
        raise BadInput("You have started this quiz over on another page; load this one again.")
    return act(DeckPage(request.path_params["deck"], self_study), values)


def _attempt(store: Store, request: Request) -> SelfStudy:
    """The attempt of whoever looks at the page. Raises WorkshopError."""
    deck, folder = _deck(request)
    return self_study.begin(store, deck, QuizLearner.from_identity(request.state.identity), folder)


def _deck(request: Request) -> tuple[Deck, Path]:
    """The deck of an address. Raises BadInput, also for those who came in by the code of a round and see that only."""
    if request.state.identity.role == "player":
        raise BadInput("Quizzes to learn from are for those in the class; come in at /join.")
    return catalogue.deck(request.path_params["deck"])


async def _page(request: Request) -> Response:
    try:
        deck, _ = await run_in_threadpool(_deck, request)
    except WorkshopError as error:
        return PlainTextResponse(str(error), 404, FRESH)
    return templates.quiz_page("alone", deck.title, deck=request.path_params["deck"], title=deck.title)


async def _picture(request: Request) -> Response:
    def load_picture() -> pictures.LoadedPicture:
        deck, folder = _deck(request)
        try:
            picture = deck.question(request.path_params["question"]).picture
        except KeyError:
            picture = None
        if picture is None:
            raise BadInput("There is no such picture.")
        return pictures.load(folder, picture)

    try:
        loaded = await run_in_threadpool(load_picture)
    except WorkshopError as error:
        return PlainTextResponse(str(error), 404, FRESH)
    headers = {**pictures.HEADERS, "cache-control": "private, max-age=3600"}
    return Response(loaded.data, media_type=loaded.kind, headers=headers)
