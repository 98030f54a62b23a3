"""Reads QTI 2.1: a content package (.zip), or one item (.xml). Items with one interaction become questions."""

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
from workshop.quiz.formats.xml import text_at


def _is_interaction(element: Element) -> bool:
    return isinstance(element.tag, str) and element.tag.endswith("Interaction")


class _Declaration:
    """The right answer and the points that an item declares."""

    def __init__(self, reader: ItemReader, interaction: Element) -> None:
        name = interaction.get("responseIdentifier", "")
        named = (element for element in reader.root.findall("responseDeclaration") if element.get("identifier") == name)
        if (declaration := next(named, None)) is None:
            raise ValueError("its response isn't declared")
        self.cardinality = declaration.get("cardinality", "single")
        self.kind = declaration.get("baseType", "identifier")
        self.right = [" ".join(text_at(value).split()) for value in declaration.findall("correctResponse/value")]
        entries = declaration.findall("mapping/mapEntry")
        self.mapped = {
            " ".join(entry.get("mapKey", "").split()): importer.number(entry.get("mappedValue", "0"))
            for entry in entries
        }
        processing = reader.root.find("responseProcessing")
        self.maps = (
            bool(self.mapped)
            and processing is not None
            and ("map_response" in processing.get("template", "") or processing.find(".//mapResponse") is not None)
        )
        self.case_matters = not self.maps or any(entry.get("caseSensitive", "true") == "true" for entry in entries)
        mapping = declaration.find("mapping")
        most = mapping.get("upperBound") if mapping is not None else None
        self.most = importer.number(most) if most else max(self.mapped.values(), default=1.0)


def _choice(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
    tag = "inlineChoice" if interaction.tag == "inlineChoiceInteraction" else "simpleChoice"
    options: list[dict[str, Any]] = []
    names = []
    for choice in xml.all_of(interaction, tag):
        feedback_parts = [child for child in choice if child.tag in ("feedbackInline", "feedbackBlock")]
        feedback = "\n\n".join(reader.markdown(child) for child in feedback_parts)
        tails = "".join(child.tail or "" for child in feedback_parts)
        for child in feedback_parts:
            choice.remove(child)
        if tails.strip():
            reader.lost.append("the text behind an option's feedback")
        name = choice.get("identifier", "")
        names.append(name)
        options.append({"text": reader.markdown(choice), "feedback": feedback or reader.shown_for(name)})
    shuffled = {} if interaction.get("shuffle", "false") == "true" else {"shuffle": False}
    if any(choice.get("fixed") == "true" for choice in xml.all_of(interaction, tag)):
        reader.lost.append("that some options stay in their places")
    if not declared.right and not declared.mapped:
        if any(option.pop("feedback") for option in options):
            reader.lost.append("the feedback on its options")
        return {"type": "poll", "options": options} | shuffled
    single = declared.cardinality == "single"
    if declared.maps:
        full_points = declared.most if single else sum(value for value in declared.mapped.values() if value > 0)
        shares = [declared.mapped.get(name, 0.0) / (full_points or 1.0) for name in names]
    else:
        count = len(declared.right) or 1
        shares = [(1 / count if name in declared.right else 0.0 if single else -1 / count) for name in names]
        if not single and count > 1:
            reader.lost.append("that there are points only where all right options are chosen")
    for option, share in zip(options, shares, strict=True):
        option["share"] = share
    question, lost = importer.choices(options, single)
    reader.lost += lost
    return question | shuffled


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
        centre = value if at is None else importer.number(text_at(at))
        within = _off(equal, centre)
        if at is None:
            off = within
        elif feedback := _shown_by(reader, equal):
            near.append({"answer": centre, "tolerance": {"absolute": within}, "feedback": feedback})
    return {"type": "number", "answer": value, "tolerance": {"absolute": off}, "unit": reader.unit, "near": near}


def _off(equal: Element, value: float) -> float:
    """The tolerance of a number: the larger one of QTI's two, below and above; relative ones are percentages."""
    tolerances = [abs(importer.number(part)) for part in equal.get("tolerance", "0").split()] or [0.0]
    mode = equal.get("toleranceMode", "exact")
    if mode == "exact":
        return 0.0
    return max(tolerances) * (abs(value) / 100 if mode == "relative" else 1)


def _shown_by(reader: ItemReader, condition: Element) -> str:
    """The feedback that is shown if a condition is true."""
    for branch in xml.all_of(reader.root, "responseIf", "responseElseIf"):
        if condition in list(branch):
            for outcome in branch.findall("setOutcomeValue/baseValue"):
                if text_at(outcome) in reader.feedback:
                    reader.used.add(text_at(outcome))
                    return reader.feedback[text_at(outcome)]
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
            near.setdefault(feedback, []).append(text_at(base))
    return importer.words_of(accept, near)


def _order(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
    texts = {
        choice.get("identifier", ""): reader.markdown(choice) for choice in xml.all_of(interaction, "simpleChoice")
    }
    if set(declared.right) != set(texts):
        raise ValueError("its right order doesn't hold all items")
    return {"type": "order", "items": [texts[name] for name in declared.right]}


def _match(reader: ItemReader, interaction: Element) -> dict[str, Any]:
    declared = _Declaration(reader, interaction)
    choices = list(xml.all_of(interaction, "simpleAssociableChoice"))
    texts = {choice.get("identifier", ""): reader.markdown(choice) for choice in choices}
    pairs = [pair.split() for pair in (declared.right or [key for key, value in declared.mapped.items() if value > 0])]
    if any(len(pair) != 2 or not set(pair) <= set(texts) for pair in pairs):
        raise ValueError("its pairs aren't pairs of its choices")
    sets = interaction.findall("simpleMatchSet")
    if len(sets) == 2:
        lefts = [choice.get("identifier", "") for choice in sets[0]]
        if sorted(left_id for left_id, _ in pairs) != sorted(lefts):
            raise ValueError("something on the left belongs to nothing, or to several; it should belong to one")
        pairs.sort(key=lambda pair: lefts.index(pair[0]))
    used = {name for pair in pairs for name in pair}
    extra = [text for name, text in texts.items() if name not in used]
    matched = [{"left": texts[left_id], "right": texts[right]} for left_id, right in pairs]
    return {"type": "match", "pairs": matched, "extra": extra}


_KINDS: dict[str, Callable[[ItemReader, Element], dict[str, Any]]] = {
    "choiceInteraction": _choice,
    "inlineChoiceInteraction": _choice,
    "textEntryInteraction": _entry,
    "orderInteraction": _order,
    "matchInteraction": _match,
    "associateInteraction": _match,
}


PREFIX = "Q_"  # prefix of the identifiers of exported items
_GAP = "\ue000"  # replaces an interaction
_LEFT_OUT = ("rubricBlock", "templateBlock", "templateInline", "feedbackBlock", "feedbackInline", "printedVariable")


class ItemReader(QuestionReader):
    """Reads one item."""

    def __init__(self, item: PackageItem, builder: DeckBuilder, load: Callable[[str, str], bytes | None]) -> None:
        self.item, self.root, self._load = item, item.root, load
        identifier, title = self.root.get("identifier", ""), self.root.get("title", "")
        self.title = title or identifier
        ours = identifier.startswith(PREFIX)
        super().__init__(builder.new_id(identifier.removeprefix(PREFIX) if ours else self.title), builder)
        self.feedback: dict[str, str] = {}  # Markdown, by the identifier that shows it
        self.used: set[str] = set()
        self.unit = ""

    def markdown(self, element: Element | None, pictured: bool = False) -> str:
        """The content of an element as Markdown."""
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
        """The item as a question. Raises ValueError with the reason if decks can't contain it."""
        body = self.root.find("itemBody")
        interactions = [element for element in body.iter() if _is_interaction(element)] if body is not None else []
        if body is None or not interactions:
            raise ValueError("a text, which asks for nothing")
        if len(interactions) > 1:
            raise ValueError(f"{len(interactions)} interactions; a question has one")
        if self._is_template(body):
            raise ValueError("a template, whose text or right answer is different for each learner")
        if self.root.get("adaptive") == "true":
            self.lost.append("that it is adaptive: an answer may change what is asked next")
        interaction = interactions[0]
        if interaction.tag not in _KINDS:
            raise ValueError(f"an interaction of type {interaction.tag.removesuffix('Interaction')[:40]!r}")
        fields: dict[str, Any] = {"id": self.id, "text": self._text(body, interaction), "picture": self.picture}
        fields["explanation"] = self._explanation()
        fields |= _KINDS[interaction.tag](self, interaction)
        if fields["type"] != "poll":
            fields["points"] = importer.number(self.item.points) if self.item.points not in ("", "1") else None
        seconds = self.item.seconds
        fields["seconds"] = max(5, min(3600, round(importer.number(seconds)))) if seconds else None
        fields["tags"] = list(dict.fromkeys(" ".join(tag.split()) for tag in self.item.tags if tag.strip()))
        if any(text for name, text in self.feedback.items() if name not in self.used):
            self.lost.append("feedback that depends on the answer in another way")
        return fields

    def _is_template(self, body: Element) -> bool:
        """Whether the item's text or right answer is random for each learner.

        Some programs declare template variables only as constants of the score; such an item is no template.
        """
        template = self.root.find("templateProcessing")
        names = {declaration.get("identifier", "") for declaration in self.root.findall("templateDeclaration")}
        displayed = {variable.get("identifier", "") for variable in xml.all_of(body, "printedVariable")}
        displayed |= {
            block.get("templateIdentifier", "") for block in xml.all_of(body, "templateBlock", "templateInline")
        }
        displayed |= {xml.text_at(identifier) for identifier in xml.all_of(body, "mi", "ci")}  # names in formulas
        return (template is not None and len(template) > 0) or bool(names & displayed)

    def _text(self, body: Element, interaction: Element) -> str:
        """The text of an item without its interaction, but with the interaction's prompt."""
        body = copy.deepcopy(body)
        for parent in list(body.iter()):
            for child in [element for element in parent if _is_interaction(element)]:
                _cut(parent, child, _GAP)
        for parent in list(body.iter()):
            for child in list(parent):
                if child.get("class") == "unit" and not self.unit:
                    self.unit = xml.text_at(child)
                    _cut(parent, child, "")
                elif child.tag in _LEFT_OUT:
                    self.lost.append(f"a {child.tag} of the text")
                    _cut(parent, child, "")
        for element in body.iter():
            element.text, element.tail = _with_gap(element.text), _with_gap(element.tail)
        prompt = interaction.find("prompt")
        return "\n\n".join(filter(None, [self.markdown(body, True), self.markdown(prompt, True)]))

    def _explanation(self) -> str:
        """The feedback that everybody sees. Other modal feedback is stored in `feedback` by its identifier."""
        always = []
        for feedback in self.root.findall("modalFeedback"):
            if feedback.get("showHide") == "hide":
                always.append(self.markdown(feedback))
            else:
                self.feedback[feedback.get("identifier", "")] = self.markdown(feedback)
        return "\n\n".join(always)


def read(data: bytes, name: str) -> Imported:
    """Read a deck from a QTI package or one item. Raises BadInput with the file, and with the line if it is known."""
    builder = DeckBuilder(name)
    if data[:2] != b"PK":
        if (version := qti_package.version_of(data)) in ("1.2", "3"):
            raise BadInput(f"{name} {qti_package.refusal(version)}")
        root = xml.parse(data, name)
        if root.tag != "assessmentItem":
            raise BadInput(
                f"{name} begins with <{root.tag[:40]}>; it should be a QTI package (.zip) or <assessmentItem>."
            )
        reader = ItemReader(PackageItem("", root), builder, lambda beside, address: None)
        builder.take(reader.title, reader)
        return builder.imported()
    package = qti_package.unpacked(data, name)
    if package.test is not None:
        identifier = package.test.get("identifier", "")
        builder.title = package.test.get("title", "")
        builder.id = identifier.removeprefix("T_") if identifier.startswith("T_") else builder.title
        rubric = next(xml.all_of(package.test, "rubricBlock"), None)
        if rubric is not None:
            builder.about = markdown_writer.markdown(_html(rubric)).text
    for path in package.missing:
        builder.leave(path, "not taken: it isn't in the package")
    for item in package.items:
        if item.root.tag == "assessmentItem":
            reader = ItemReader(
                item, builder, lambda beside, address: package.files.get(qti_package.at(beside, address))
            )
            builder.take(reader.title, reader)
        else:
            builder.leave(item.path, f"not taken: it begins with <{item.root.tag[:40]}>, which is no item of QTI 2")
    return builder.imported()


def _html(element: Element) -> str:
    """The content of a QTI element as HTML."""
    div = Element("div")
    div.text = element.text
    div.extend(element)
    return ElementTree.tostring(div, encoding="unicode")


def _with_gap(text: str | None) -> str:
    """Show a gap as a line if there is text around it; otherwise remove it."""
    text = text or ""
    return text.replace(_GAP, "_____" if text.replace(_GAP, "").strip() else "")


def _cut(parent: Element, child: Element, instead: str) -> None:
    """Replace a child by a text."""
    number = list(parent).index(child)
    text = instead + (child.tail or "")
    parent.remove(child)
    if number:
        before = parent[number - 1]
        before.tail = (before.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
