"""QTI 2.1, read: a content package (.zip), or one item (.xml). Items with one interaction become questions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workshop.core.errors import BadInput
from workshop.quiz.formats import importer, markdown_writer, qti_package, xml
from workshop.quiz.formats.base import Imported
from workshop.quiz.formats.importer import DeckBuilder, QuestionReader
from workshop.quiz.formats.qti_package import PackageItem
from workshop.quiz.formats.xml import said


def _is_interaction(element: Element) -> bool:
    return isinstance(element.tag, str) and element.tag.endswith("Interaction")


class _Declaration:
    """What an item declares as right."""

    def __init__(self, reader: ItemReader, interaction: Element) -> None:
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


def _choice(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
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


def _entry(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
    return _number(reader, declared) if declared.kind in ("float", "integer") else _words(reader, declared)


def _number(reader: ItemReader, declared: _Declaration) -> dict[str, Any]:
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


def _shown_by(reader: ItemReader, condition: Element) -> str:
    """The feedback that is shown where a condition holds."""
    for branch in xml.all_of(reader.root, "responseIf", "responseElseIf"):
        if condition in list(branch):
            for outcome in branch.findall("setOutcomeValue/baseValue"):
                if said(outcome) in reader.feedback:
                    reader.used.add(said(outcome))
                    return reader.feedback[said(outcome)]
    return ""


def _words(reader: ItemReader, declared: _Declaration) -> dict[str, Any]:
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


def _order(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
    texts = {one.get("identifier", ""): reader.markdown(one) for one in xml.all_of(interaction, "simpleChoice")}
    if set(declared.right) != set(texts):
        raise ValueError("its right order doesn't hold all items")
    return {"type": "order", "items": [texts[name] for name in declared.right]}


def _match(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
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


_KINDS: dict[str, Callable[[ItemReader, Element], dict[str, Any]]] = {
    "choiceInteraction": _choice,
    "inlineChoiceInteraction": _choice,
    "textEntryInteraction": _entry,
    "orderInteraction": _order,
    "matchInteraction": _match,
    "associateInteraction": _match,
}


PREFIX = "Q_"  # of the identifiers of items that we have written
_GAP = "\ue000"  # stands where an interaction was
_LEFT_OUT = ("rubricBlock", "templateBlock", "templateInline", "feedbackBlock", "feedbackInline", "printedVariable")


class ItemReader(QuestionReader):
    """One item as it is read."""

    def __init__(self, item: PackageItem, found: DeckBuilder, load: Callable[[str, str], bytes | None]) -> None:
        self.item, self.root, self._load = item, item.root, load
        identifier, title = self.root.get("identifier", ""), self.root.get("title", "")
        self.title = title or identifier
        ours = identifier.startswith(PREFIX)
        super().__init__(found.new_id(identifier.removeprefix(PREFIX) if ours else self.title), found)
        self.feedback: dict[str, str] = {}  # Markdown, by the identifier that shows it
        self.used: set[str] = set()
        self.unit = ""

    def markdown(self, element: Element | None, pictured: bool = False) -> str:
        """What is in an element, as Markdown."""
        if element is None:
            return ""
        return self.text(
            markdown_writer.markdown(_html(element)), partial(self._load, self.item.path) if pictured else None
        )

    def shown_for(self, name: str) -> str:
        """Modal feedback on an answer."""
        self.used.add(name)
        return self.feedback.get(name, "")

    def question(self) -> dict[str, Any]:
        """The item as a question. Raises ValueError with the reason why it can't be taken."""
        body = self.root.find("itemBody")
        interactions = [one for one in body.iter() if _is_interaction(one)] if body is not None else []
        if body is None or not interactions:
            raise ValueError("a text, which asks for nothing")
        if len(interactions) > 1:
            raise ValueError(f"{len(interactions)} interactions; a question has one")
        if self._is_template(body):
            raise ValueError("a template, whose text or right answer is drawn anew for each learner")
        if self.root.get("adaptive") == "true":
            self.lost.append("that it is adaptive: an answer may change what is asked next")
        interaction = interactions[0]
        if interaction.tag not in _KINDS:
            raise ValueError(f"an interaction of type {interaction.tag.removesuffix('Interaction')[:40]!r}")
        made = {"id": self.id, "text": self._text(body, interaction), "picture": self.picture}
        made["explanation"] = self._explanation()
        made |= _KINDS[interaction.tag](self, interaction)
        if made["type"] != "poll":
            made["points"] = importer.number(self.item.points) if self.item.points not in ("", "1") else None
        seconds = self.item.seconds
        made["seconds"] = max(5, min(3600, round(importer.number(seconds)))) if seconds else None
        made["tags"] = list(dict.fromkeys(" ".join(tag.split()) for tag in self.item.tags if tag.strip()))
        if any(text for name, text in self.feedback.items() if name not in self.used):
            self.lost.append("feedback that depends on the answer in a way of its own")
        return made

    def _is_template(self, body: Element) -> bool:
        """Whether the item's text or right answer is drawn anew for each learner.

        Some programs declare template variables as constants of the score only; such an item is none.
        """
        drawn = self.root.find("templateProcessing")
        names = {one.get("identifier", "") for one in self.root.findall("templateDeclaration")}
        shown = {one.get("identifier", "") for one in xml.all_of(body, "printedVariable")}
        shown |= {one.get("templateIdentifier", "") for one in xml.all_of(body, "templateBlock", "templateInline")}
        shown |= {xml.said(one) for one in xml.all_of(body, "mi", "ci")}  # names in formulas stand for their values
        return (drawn is not None and len(drawn) > 0) or bool(names & shown)

    def _text(self, body: Element, interaction: Element) -> str:
        """The text of an item without its interaction, of which only the prompt is kept."""
        body = copy.deepcopy(body)
        for parent in list(body.iter()):
            for child in [one for one in parent if _is_interaction(one)]:
                _cut(parent, child, _GAP)
        for parent in list(body.iter()):
            for child in list(parent):
                if child.get("class") == "unit" and not self.unit:
                    self.unit = xml.said(child)
                    _cut(parent, child, "")
                elif child.tag in _LEFT_OUT:
                    self.lost.append(f"a {child.tag} of the text")
                    _cut(parent, child, "")
        for one in body.iter():  # a gap is only shown where there is something around it
            one.text = (one.text or "").replace(_GAP, "_____" if (one.text or "").replace(_GAP, "").strip() else "")
            one.tail = (one.tail or "").replace(_GAP, "_____" if (one.tail or "").replace(_GAP, "").strip() else "")
        prompt = interaction.find("prompt")
        return "\n\n".join(filter(None, [self.markdown(body, True), self.markdown(prompt, True)]))

    def _explanation(self) -> str:
        """Feedback that everybody sees; other modal feedback is kept by its identifier."""
        always = []
        for one in self.root.findall("modalFeedback"):
            if one.get("showHide") == "hide":
                always.append(self.markdown(one))
            else:
                self.feedback[one.get("identifier", "")] = self.markdown(one)
        return "\n\n".join(always)


def read(data: bytes, name: str) -> Imported:
    """A deck from a QTI package or from one item. Raises BadInput with the file, and the line where there is one."""
    found = DeckBuilder(name)
    if data[:2] != b"PK":
        if (version := qti_package.version_of(data)) in ("1.2", "3"):
            raise BadInput(f"{name} {qti_package.refusal(version)}")
        root = xml.parse(data, name)
        if root.tag != "assessmentItem":
            raise BadInput(
                f"{name} begins with <{root.tag[:40]}>; it should be a QTI package (.zip) or <assessmentItem>."
            )
        reader = ItemReader(PackageItem("", root), found, lambda beside, address: None)
        found.take(reader.title, reader)
        return found.imported()
    package = qti_package.unpacked(data, name)
    if package.test is not None:
        identifier = package.test.get("identifier", "")
        found.title = package.test.get("title", "")
        found.id = identifier.removeprefix("T_") if identifier.startswith("T_") else found.title
        rubric = next(xml.all_of(package.test, "rubricBlock"), None)
        if rubric is not None:
            found.about = markdown_writer.markdown(_html(rubric)).text
    for path in package.missing:
        found.leave(path, "not taken: it isn't in the package")
    for item in package.items:
        if item.root.tag == "assessmentItem":
            reader = ItemReader(item, found, lambda beside, address: package.files.get(qti_package.at(beside, address)))
            found.take(reader.title, reader)
        else:
            found.leave(item.path, f"not taken: it begins with <{item.root.tag[:40]}>, which is no item of QTI 2")
    return found.imported()


def _html(element: Element) -> str:
    """What is in an element of QTI's, as HTML."""
    made = Element("div")
    made.text = element.text
    made.extend(element)
    return ElementTree.tostring(made, encoding="unicode")


def _cut(parent: Element, child: Element, instead: str) -> None:
    """Take a child out, and put a text in its place."""
    number = list(parent).index(child)
    text = instead + (child.tail or "")
    parent.remove(child)
    if number:
        before = parent[number - 1]
        before.tail = (before.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
