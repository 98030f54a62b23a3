"""Nicknames in their visible form, and reserved ones."""

from __future__ import annotations

import re
import unicodedata

from workshop.core.errors import BadInput
from workshop.store.identities import LONGEST_NICKNAME

# Zero width joiners between emoji (with their variation or skin colour), and non-joiners between letters that join.
_EMOJI = "\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MONGOLIAN = "\u1820-\u18aa"
# Characters without a shape of their own where they belong: they join or choose the shape of what is before them.
_IN_PLACE = re.compile(
    f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    "|(?<=[\u0620-\u06ff])\u200c(?=[\u0620-\u06ff])"
    f"|(?<=[{_EMOJI}0-9#*©®])[\ufe0e\ufe0f]"
    f"|(?<=[{_IDEOGRAPHS}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    f"|(?<=[{_MONGOLIAN}])[\u180b-\u180d]"
)
# Letters and marks that are shown as nothing, whatever their category: Unicode's Default_Ignorable_Code_Point outside
# of the format characters, and the empty braille pattern.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_RESERVED = "instructor"
# What looks like one of its letters in some font: Latin, Greek, Cyrillic, Armenian, Coptic, Cherokee, Lisu, and others.
_LOOKALIKES = {
    "i": "l1|!¡ıɩɪιіӏꙇǀᎥꓲⲓا׀וןᛁ",
    "n": "ɴŋƞηνпиՈոռꓠⲛᴎ",
    "s": "$5ѕꜱʂƽտᏚꓢ§",
    "t": "тτᴛᎢꓔƭŧⲧ+†",
    "r": "гґʀɾɍᴦᎡᏒꓣⲅя",
    "u": "υսʋᴜꓴцμv∪",
    "c": "сᴄⲥᏟꓚ¢ƈ",
    "o": "0оοσօᴏⲟჿөɵø○◯〇ꓳסഠဝہه",
}
_LETTERS = {ord(lookalike): letter for letter, others in _LOOKALIKES.items() for lookalike in others}
# What Unicode's compatibility forms leave as it is, or make a sigma of: letters in black squares and circles, of flags.
_FIRST = {
    **{begin + place: chr(ord("a") + place) for begin in (0x1F150, 0x1F170, 0x1F1E6) for place in range(26)},
    **dict.fromkeys(map(ord, "ϲϹ"), "c"),
}


def checked_nickname(text: str) -> str:
    """A nickname as it will be shown. Raises BadInput with one sentence."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise BadInput("Please give a nickname, so that others can tell your runs from theirs.")
    if len(name) > LONGEST_NICKNAME:
        raise BadInput(f"The nickname has {len(name)} characters; at most {LONGEST_NICKNAME} fit.")
    # Control and format characters could turn the line around or hide; unassigned ones have no shape.
    rest = _IN_PLACE.sub("", name)
    if _INVISIBLE.search(rest) or any(
        unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs") for character in rest
    ):
        raise BadInput("The nickname holds characters that can't be shown; letters, digits and spaces can.")
    if _looks_reserved(name):
        raise BadInput("The nickname Instructor is the instructor's; please take another one.")
    return name


def _looks_reserved(name: str) -> bool:
    """Whether a name looks at first snapshot like the instructor's, also with signs, marks or digits around it."""
    plain = unicodedata.normalize("NFKD", name.translate(_FIRST)).casefold()
    rest = re.sub(r"[\W\d_]+$", "", plain)
    return _RESERVED in (_skeleton(rest), _skeleton(re.sub(r"^[\W\d_]+", "", rest)))


def _skeleton(plain: str) -> str:
    """A name's letters, each replaced by the letter that it looks like."""
    letters = "".join(map(_digit, plain)).translate(_LETTERS)
    return "".join(letter for letter in letters if letter.isalpha())


def _digit(character: str) -> str:
    """A digit of any script as an ASCII one."""
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)
