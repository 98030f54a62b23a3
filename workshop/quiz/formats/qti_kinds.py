"""QTI's interactions as types of questions, with what their items say is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from workshop.quiz.formats import importer, xml
from workshop.quiz.formats.xml import said

if TYPE_CHECKING:
    from workshop.quiz.formats.qti_read import Reader


def is_interaction(element: Element) -> bool:
    return isinstance(element.tag, str) and element.tag.endswith("Interaction")


class _Declared:
    """What an item declares as right."""

    def __init__(self, reader: Reader, interaction: Element) -> None:
        name = interaction.get("responseIdentifier", "")
        found = [one for one in reader.root.findall("responseDeclaration") if one.get("identifier") == name]
        if not found:
            raise ValueError("its response isn't declared")
        self.cardinality, self.kind = found[0].get("cardinality", "single"), found[0].get("baseType", "identifier")
        self.right = [" ".join(said(value).split()) for value in found[0].findall("correctResponse/value")]
        self.mapped = {
            " ".join(one.get("mapKey", "").split()): importer.number(one.get("mappedValue", "0"))
            for one in found[0].findall("mapping/mapEntry")
        }
        cases = [one.get("caseSensitive", "true") for one in found[0].findall("mapping/mapEntry")]
        processing = reader.root.find("responseProcessing")
        template = processing.get("template", "") if processing is not None else ""
        self.maps = bool(self.mapped) and (
            "map_response" in template or (processing is not None and processing.find(".//mapResponse") is not None)
        )
        self.case_matters = not self.maps or "true" in cases
        bound = found[0].find("mapping")
        most = bound.get("upperBound") if bound is not None else None
        self.most = importer.number(most) if most else max(self.mapped.values(), default=1.0)


def _choice(reader: Reader, interaction: Element) -> dict[str, Any]:
    declared = _Declared(reader, interaction)
    tag = "inlineChoice" if interaction.tag == "inlineChoiceInteraction" else "simpleChoice"
    options, names = [], []
    for one in xml.all_of(interaction, tag):
        shown = [child for child in one if child.tag in ("feedbackInline", "feedbackBlock")]
        feedback = "\n\n".join(reader.markdown(child) for child in shown)
        tails = "".join(child.tail or "" for child in shown)
        for child in shown:
            one.remove(child)
        if tails.strip():
            reader.lost.append("the text behind an option's feedback")
        name = one.get("identifier", "")
        names.append(name)
        options.append({"text": reader.markdown(one), "feedback": feedback or reader.shown_for(name)})
    shuffled = {} if interaction.get("shuffle", "false") == "true" else {"shuffle": False}
    if any(one.get("fixed") == "true" for one in xml.all_of(interaction, tag)):
        reader.lost.append("that some options stay in their places")
    if not declared.right and not declared.mapped:
        if any(option.pop("feedback") for option in options):
            reader.lost.append("the feedback on its options")
        return {"type": "poll", "options": options} | shuffled
    single = declared.cardinality == "single"
    if declared.maps:
        whole = declared.most if single else sum(value for value in declared.mapped.values() if value > 0)
        shares = [declared.mapped.get(name, 0.0) / (whole or 1.0) for name in names]
    else:
        count = len(declared.right) or 1
        shares = [(1 / count if name in declared.right else 0.0 if single else -1 / count) for name in names]
        if not single and count > 1:
            reader.lost.append("that there are points only where all right options are chosen")
    for option, share in zip(options, shares, strict=True):
        option["share"] = share
    made, lost = importer.choices(options, single)
    reader.lost += lost
    return made | shuffled


def _entry(reader: Reader, interaction: Element) -> dict[str, Any]:
    declared = _Declared(reader, interaction)
    return _number(reader, declared) if declared.kind in ("float", "integer") else _words(reader, declared)


def _number(reader: Reader, declared: _Declared) -> dict[str, Any]:
    right = declared.right or [key for key, value in declared.mapped.items() if value >= declared.most]
    if not right:
        raise ValueError("no right number")
    value, off, near = importer.number(right[0]), 0.0, []
    for equal in xml.all_of(reader.root, "equal", "equalRounded"):
        if equal.tag == "equalRounded":
            reader.lost.append("that numbers are rounded before they are compared")
            continue
        at = equal.find("baseValue")
        centre = value if at is None else importer.number(said(at))
        within = _off(equal, centre)
        if at is None:
            off = within
        elif feedback := _shown_by(reader, equal):
            near.append({"answer": centre, "tolerance": {"absolute": within}, "feedback": feedback})
    return {"type": "number", "answer": value, "tolerance": {"absolute": off}, "unit": reader.unit, "near": near}


def _off(equal: Element, value: float) -> float:
    """By how much a number may be off: QTI has two tolerances, below and above; relative ones are percentages."""
    given = [abs(importer.number(part)) for part in equal.get("tolerance", "0").split()] or [0.0]
    mode = equal.get("toleranceMode", "exact")
    if mode == "exact":
        return 0.0
    return max(given) * (abs(value) / 100 if mode == "relative" else 1)


def _shown_by(reader: Reader, condition: Element) -> str:
    """The feedback that is shown where a condition holds."""
    for branch in xml.all_of(reader.root, "responseIf", "responseElseIf"):
        if condition in list(branch):
            for outcome in branch.findall("setOutcomeValue/baseValue"):
                if said(outcome) in reader.feedback:
                    reader.used.add(said(outcome))
                    return reader.feedback[said(outcome)]
    return ""


def _words(reader: Reader, declared: _Declared) -> dict[str, Any]:
    accept = [key for key, value in declared.mapped.items() if value >= declared.most > 0] or declared.right
    if not accept:
        raise ValueError("no accepted form")
    if declared.case_matters:
        reader.lost.append("that case matters")
    partly = [key for key, value in declared.mapped.items() if 0 < value < declared.most]
    if partly:
        reader.lost.append(f"forms with a part of the points ({', '.join(partly)[:60]})")
    near: dict[str, list[str]] = {}
    for compared in xml.all_of(reader.root, "stringMatch"):
        base = compared.find("baseValue")
        if base is not None and (feedback := _shown_by(reader, compared)):
            near.setdefault(feedback, []).append(said(base))
    return importer.words_of(accept, near)


def _order(reader: Reader, interaction: Element) -> dict[str, Any]:
    declared = _Declared(reader, interaction)
    texts = {one.get("identifier", ""): reader.markdown(one) for one in xml.all_of(interaction, "simpleChoice")}
    if set(declared.right) != set(texts):
        raise ValueError("its right order doesn't hold all items")
    return {"type": "order", "items": [texts[name] for name in declared.right]}


def _match(reader: Reader, interaction: Element) -> dict[str, Any]:
    declared = _Declared(reader, interaction)
    choices = list(xml.all_of(interaction, "simpleAssociableChoice"))
    texts = {one.get("identifier", ""): reader.markdown(one) for one in choices}
    pairs = [pair.split() for pair in (declared.right or [key for key, value in declared.mapped.items() if value > 0])]
    if any(len(pair) != 2 or not set(pair) <= set(texts) for pair in pairs):
        raise ValueError("its pairs aren't pairs of its choices")
    sets = interaction.findall("simpleMatchSet")
    if len(sets) == 2:
        lefts = [one.get("identifier", "") for one in sets[0]]
        if sorted(left for left, _ in pairs) != sorted(lefts):
            raise ValueError("something on the left belongs to nothing, or to several; it should belong to one")
        pairs.sort(key=lambda pair: lefts.index(pair[0]))
    used = {name for pair in pairs for name in pair}
    extra = [text for name, text in texts.items() if name not in used]
    made = [{"left": texts[left], "right": texts[right]} for left, right in pairs]
    return {"type": "match", "pairs": made, "extra": extra}


KINDS: dict[str, Callable[[Reader, Element], dict[str, Any]]] = {
    "choiceInteraction": _choice,
    "inlineChoiceInteraction": _choice,
    "textEntryInteraction": _entry,
    "orderInteraction": _order,
    "matchInteraction": _match,
    "associateInteraction": _match,
}
