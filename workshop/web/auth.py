"""Authentication: the instructor's token, the class code, and the cookies that replace them.

The store keeps hashes of tokens, never tokens. The class code is short because people type it, so it is kept as it is
and guessing is slowed down, see `code_form`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from workshop.store.records import Identity, Role
from workshop.store.store import Store

INSTRUCTOR = "instructor_token_sha256"  # keys of the store's settings
CLASS_CODE = "class_code"
ADMISSION = "class_admission"  # "closed": nobody new may join the class
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that is read as another one
TICKET_SECONDS = 30.0


def new_secrets(store: Store) -> tuple[str, str]:
    """Make the instructor's token and the class code. Older ones become invalid, with all cookies that came from them.
    Players of a quiz stay, because they use the code of their round. New learners may join then."""
    token, code = secrets.token_urlsafe(24), new_code()
    store.set_setting(INSTRUCTOR, hashed(token))
    store.set_setting(CLASS_CODE, code)
    store.set_setting(ADMISSION, "open")
    store.log_out_all(("instructor", "learner"))
    return token, code


def new_code() -> str:
    """A code of six letters and digits, one of a billion."""
    return "".join(secrets.choice(_LETTERS) for _ in range(6))


def log_everybody_out(store: Store) -> tuple[str, str]:
    """End all cookies, also of players. Returns a new token and a new class code, because everybody knows the old
    ones."""
    secrets_made = new_secrets(store)
    store.log_out_all()
    return secrets_made


def new_ticket(store: Store) -> str:
    """A way in for the instructor that is worth one visit soon, for pages of ours that open the dashboard."""
    ticket = secrets.token_urlsafe(24)
    store.add_ticket(hashed(ticket), time.time() + TICKET_SECONDS)
    return ticket


def hashed(secret: str) -> str:
    """The hash of a secret for the store."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_instructor_token(store: Store, token: str) -> bool:
    return hmac.compare_digest(hashed(token), store.setting(INSTRUCTOR) or "")


def is_class_code(store: Store, code: str) -> bool:
    """Whether this is the class code; case and spaces don't matter."""
    given_code = "".join(code.split()).upper().encode()
    class_code = (store.setting(CLASS_CODE) or "").encode()
    return bool(class_code) and hmac.compare_digest(given_code, class_code)


def may_join(store: Store, nickname: str, former: str | None) -> bool:
    """Whether the class is open for a visitor. Where it is closed, only a learner comes in again, with the `former`
    secret and the same nickname."""
    if store.setting(ADMISSION) != "closed":
        return True
    identity = store.former_identity(hashed(former)) if former else None
    return identity is not None and (identity.role, identity.nickname) == ("learner", nickname)


def let_in(store: Store, role: Role, nickname: str, former: str | None = None) -> tuple[Identity, str]:
    """An identity and the secret for its cookie; a nickname that somebody has already gets a number. A visitor with the
    `former` secret, the same nickname and the same role keeps the identity."""
    cookie = secrets.token_urlsafe(32)
    if former and (identity := store.let_in_again(hashed(former), hashed(cookie), role, nickname)) is not None:
        return identity, cookie
    return store.add_identity(role, nickname, hashed(cookie), numbered=role == "learner"), cookie
