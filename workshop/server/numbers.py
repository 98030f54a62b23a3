"""Numbers of runs, studies and rounds in addresses, which may have any number of digits."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor

DIGITS = 40  # more than the number of anything has, and fewer than Python refuses to read (4,300)


def number(text: str) -> int:
    """The number in an address. A very long one is cut, and then nothing has that number.

    Raises ValueError for other text.
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{text[:40]!r} is no number")
    return int(digits.lstrip("0")[:DIGITS] or "0")


class _Number(IntegerConvertor):
    def convert(self, value: str) -> int:
        return number(value)


def read_in_routes() -> None:
    """Every `{...:int}` of routes that are made from now on is read by `number`."""
    register_url_convertor("int", _Number())
