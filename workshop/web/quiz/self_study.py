"""Learning alone: /quiz/alone/DECK, a page with a script, and what that one asks. Only for those of the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import pictures, reader, self_study
from workshop.quiz.deck import Deck
from workshop.quiz.self_study import QuizLearner
from workshop.store.store import Store
from workshop.web import limits, templates

AT_ONCE = 2  # answers that are judged at a time: the mapper takes a fifth of a second for a placement
FRESH = {"cache-control": "no-store"}


def routes(store: Store) -> list[BaseRoute]:
    turns = CapacityLimiter(AT_ONCE)

    def route(act: str, path: str, method: str) -> Route:
        async def respond(request: Request) -> Response:
            try:
                values = await limits.json_object(request) if method == "POST" else request.path_params
                limiter = turns if method == "POST" else None
                done = await to_thread.run_sync(_respond, store, request, act, values, limiter=limiter)
                return JSONResponse(done, headers=FRESH)
            except WorkshopError as error:
                return JSONResponse({"error": str(error)}, 400, FRESH)

        return Route(f"/quiz/alone/{{deck}}{path}", respond, methods=[method])

    return [
        Route("/quiz/alone/{deck}", _page, methods=["GET"]),
        Route("/quiz/alone/{deck}/picture/{question}", _picture, methods=["GET"]),
        route("state", "/state", "GET"),
        route("question", "/question/{question}", "GET"),
        *(route(act, f"/{act}", "POST") for act in self_study.CHANGES),
    ]


def _respond(store: Store, request: Request, act: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request of the page. Raises WorkshopError."""
    name = request.path_params["deck"]
    deck, folder = _deck(request)
    study = self_study.begin(store, deck, QuizLearner.from_identity(request.state.identity), folder)
    return study.respond(act, values, lambda question, _: f"quiz/alone/{name}/picture/{question.id}")


def _deck(request: Request) -> tuple[Deck, Path]:
    """The deck of an address. Raises BadInput, also for those who came in by the code of a round and see that only."""
    if request.state.identity.role == "player":
        raise BadInput("Quizzes to learn from are for those in the class; come in at /join.")
    return reader.deck(request.path_params["deck"])


def _page(request: Request) -> Response:
    try:
        deck, _ = _deck(request)
    except WorkshopError as error:
        return PlainTextResponse(str(error), 404, FRESH)
    return templates.quiz_page("alone", deck.title, deck=request.path_params["deck"], title=deck.title)


def _picture(request: Request) -> Response:
    try:
        return picture(*_deck(request), request.path_params["question"])
    except WorkshopError as error:
        return PlainTextResponse(str(error), 404, FRESH)


def picture(deck: Deck, folder: Path | None, question: str) -> Response:
    """The picture of a question. Raises BadInput where there is none."""
    image = next((other.picture for other in deck.questions if other.id == question), None)
    if image is None:
        raise BadInput(f"There is no question {question[:60]} with a picture.")
    loaded = pictures.load(folder, image)
    headers = {**pictures.HEADERS, "cache-control": "private, max-age=3600"}
    return Response(loaded.data, media_type=loaded.kind, headers=headers)
