"""The picture of a question, for those who may see the question."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

from workshop.core.errors import BadInput
from workshop.quiz import pictures
from workshop.server.quiz.room import Room


def respond(room: Room, question: str, staff: bool) -> Response:
    """Raises BadInput where there is none, or its question was not asked yet."""
    asked = room.ids[: room.state.position + 1]
    if question not in (room.ids if staff else asked):
        raise BadInput(f"There is no question {question[:60]} here.")
    picture = room.deck.question(question).picture
    if picture is None:
        raise BadInput(f"The question {question} has no picture.")
    folder = room.record.deck_folder
    found = pictures.load(Path(folder) if folder else None, picture)
    headers = {**pictures.HEADERS, "cache-control": "private, max-age=3600"}
    return Response(found.data, media_type=found.kind, headers=headers)
