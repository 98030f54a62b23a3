"""Who may come in, and as whom: the instructor's token, the class code, and the cookies they are exchanged for.

The store keeps hashes of tokens, never tokens. The class code is short because people type it, so it is kept as it is
and guessing is slowed down, see `Attempts`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
import unicodedata
from collections import deque

from workshop.errors import BadInput
from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.records import Identity, Role
from workshop.store.store import Store

INSTRUCTOR = "instructor_token_sha256"  # keys of the store's settings
CLASS_CODE = "class_code"
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that is read as another one
CODE_LENGTH = 6
TICKET_SECONDS = 30.0
WRONG_GUESSES = 20  # of one address before it has to wait
# Seconds, and the longest wait of a class behind one address; a billion codes last for years at two guesses a second.
FORGOTTEN_AFTER = 10.0
# Zero width joiners between emoji (with their variation or skin colour), and non-joiners between letters that join.
_EMOJI = "\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff"
_BETWEEN_EMOJI = re.compile(f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])")
_BETWEEN_LETTERS = re.compile("(?<=[\u0620-\u06ff])\u200c(?=[\u0620-\u06ff])")


def new_secrets(store: Store) -> tuple[str, str]:
    """Make the instructor's token and the class code; those made before are worth nothing from now on.

    Whoever came in with them stays in: cookies are of their own.
    """
    token = secrets.token_urlsafe(24)
    code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
    store.set_setting(INSTRUCTOR, hashed(token))
    store.set_setting(CLASS_CODE, code)
    return token, code


def new_ticket(store: Store) -> str:
    """A way in for the instructor that is worth one visit soon, for pages of ours that open the dashboard."""
    ticket = secrets.token_urlsafe(24)
    store.add_ticket(hashed(ticket), time.time() + TICKET_SECONDS)
    return ticket


def hashed(secret: str) -> str:
    """What the store keeps of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_instructor_token(store: Store, token: str) -> bool:
    return hmac.compare_digest(hashed(token), store.setting(INSTRUCTOR) or "")


def is_class_code(store: Store, code: str) -> bool:
    """Whether this is the class code, in whatever case and with whatever spaces somebody typed it."""
    given = "".join(code.split()).upper().encode()
    known = (store.setting(CLASS_CODE) or "").encode()
    return bool(known) and hmac.compare_digest(given, known)


def let_in(store: Store, role: Role, nickname: str) -> tuple[Identity, str]:
    """A new identity and the secret for its cookie; a nickname that somebody has already gets a number."""
    cookie = secrets.token_urlsafe(32)
    return store.add_identity(role, nickname, hashed(cookie), numbered=role == "learner"), cookie


def checked_nickname(given: str) -> str:
    """A nickname as it will be shown. Raises BadInput with one sentence."""
    name = " ".join(unicodedata.normalize("NFC", given).split())
    if not name:
        raise BadInput("Please give a nickname, so that others can tell your runs from theirs.")
    if len(name) > LONGEST_NICKNAME:
        raise BadInput(f"The nickname has {len(name)} characters; at most {LONGEST_NICKNAME} fit.")
    # Control and format characters could turn the line around or hide; unassigned ones have no shape.
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs") for character in _without_joiners(name)):
        raise BadInput("The nickname holds characters that can't be shown; letters, digits and spaces can.")
    if name.casefold() == "instructor":
        raise BadInput("The nickname Instructor is the instructor's; please take another one.")
    return name


def _without_joiners(name: str) -> str:
    """A name without what joins two of its emoji into one, or keeps two Arabic letters apart; anywhere else these
    characters hide."""
    return _BETWEEN_LETTERS.sub("", _BETWEEN_EMOJI.sub("", name))


class Attempts:
    """Wrong class codes by address: whoever has too many of them has to wait. Right ones cost nothing, so that a whole
    class can come in from behind one address."""

    def __init__(self, most: int = WRONG_GUESSES, seconds: float = FORGOTTEN_AFTER) -> None:
        self.most = most
        self.seconds = seconds
        self._wrong: dict[str, deque[float]] = {}

    def wait(self, address: str) -> float:
        """Seconds until this address may guess again; 0 for at once."""
        wrong = self._recent(address)
        return 0.0 if len(wrong) < self.most else max(wrong[0] + self.seconds - time.monotonic(), 0.0)

    def wrong(self, address: str) -> None:
        """Count a wrong guess."""
        if len(self._wrong) > 10_000:  # so many addresses at once are nobody's class
            self._wrong.clear()
        self._wrong.setdefault(address, deque()).append(time.monotonic())

    def _recent(self, address: str) -> deque[float]:
        wrong = self._wrong.get(address, deque())
        while wrong and wrong[0] < time.monotonic() - self.seconds:
            wrong.popleft()
        return wrong
