"""Numbers and lists as people read them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

_NAME = re.compile(r"\S*(/|\.[A-Za-z])")  # of a file or of something in it

# (factor to seconds, unit), the finest first.
_UNITS = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))


def seconds(value: float) -> str:
    """A time with two or three digits that mean something: 85 µs, 1.3 ms, 4.2 s, 3.5 min."""
    if value >= 120:
        return f"{value / 60:.1f} min"
    if value == 0:
        return "0 s"
    factor, unit = next(((f, u) for f, u in _UNITS if value < 1000 * f), _UNITS[-1])
    scaled = value / factor
    return f"{scaled:.1f} {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"


def long(value: float) -> str:
    """A rough time of seconds to years: 40 s, 12 min, 3 h, 5 days."""
    for factor, word in ((365.25 * 86400, "year"), (86400, "day"), (3600, "h"), (60, "min")):
        if value >= 2 * factor:
            number = round(value / factor)
            return f"{number:,} {word}{'s' if word in ('year', 'day') else ''}"
    return f"{max(5 * round(value / 5), 5)} s"


def moment(at: float) -> str:
    """The day and the time on this machine's clock of a moment in seconds since the epoch: 23 Nov 14:05."""
    return time.strftime("%d %b %H:%M", time.localtime(at))


def percent(share: float) -> str:
    """A share as a whole percentage: 0.314 is 31 %."""
    return f"{100 * share:.0f} %"


def verb(number: int, singular: str = "is", plural: str = "are") -> str:
    """The verb after a number of things."""
    return singular if number == 1 else plural


def count(number: int, word: str) -> str:
    """A number of things: 1 rank, 2 ranks."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def option(number: int, word: str, flag: str) -> str:
    """A number of things, and how the command line asks for it: 2 ranks (--ranks 2)."""
    return f"{count(number, word)} ({flag} {number})"


def ranks(number: int) -> str:
    """A number of ranks to try: 2 ranks (--ranks 2)."""
    return option(number, "rank", "--ranks")


def thousands(number: float) -> str:
    """A large number with commas: 9,800."""
    return f"{number:,.0f}"


def short(value: float) -> str:
    """A number with three digits, however large: 24.3, 3,450, 4.4e6."""
    digits, _, power = f"{value:.3g}".partition("e")
    if power and 1e3 <= abs(rounded := float(f"{value:.3g}")) < 1e6:
        return thousands(rounded)
    return f"{digits}e{int(power)}" if power else digits


def rate(value: float) -> str:
    """Work per second in a sentence: 24.3, 9,800, 1.235 million."""
    for factor, word in ((1e9, " billion"), (1e6, " million")):
        if value >= factor:
            return f"{value / factor:.4g}{word}"
    return thousands(value) if value >= 99.5 else f"{value:.3g}"


def size(count: float) -> str:
    """Bytes: 61.2 kB."""
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} bytes"


def capital(text: str) -> str:
    """A text that begins a sentence; a file's name keeps its letters: checkpoint.npz."""
    return text if _NAME.match(text) else text[:1].upper() + text[1:]


def quoted(text: str, most: int = 40) -> str:
    """Somebody's text in quotes, on one line; a long text is cut."""
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= most else flat[: most - 3] + "...")


def listed(words: Iterable[object], last: str = "and") -> str:
    """Words as a sentence lists them: a, b and c."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else ""


def numbered(word: str, numbers: Sequence[int]) -> str:
    """Things by number, long runs of neighbours drawn together: rank 3; ranks 0 and 2; ranks 0 to 7."""
    parts: list[str] = []
    for first, last in _spans(numbers):
        parts += [f"{first} to {last}"] if last - first >= 2 else [str(number) for number in range(first, last + 1)]
    return f"{word}{'' if len(set(numbers)) == 1 else 's'} {listed(parts)}"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as people write lists of processors: 0-1,3."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in _spans(numbers))


def _spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last number of each run of neighbours, in order."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return spans
