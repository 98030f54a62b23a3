"""QTI 2.1, read: a content package (.zip), or one item (.xml). Items with one interaction become questions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workshop.core.errors import BadInput
from workshop.quiz.formats import importer, qti_package, qti_version, unmarkup, xml
from workshop.quiz.formats.base import Imported
from workshop.quiz.formats.importer import Taken
from workshop.quiz.formats.moodle_read import kept_as
from workshop.quiz.formats.qti_kinds import KINDS, is_interaction
from workshop.quiz.formats.qti_package import Item

PREFIX = "Q_"  # of the identifiers of items that we have written
_GAP = "\ue000"  # stands where an interaction was
_LEFT_OUT = ("rubricBlock", "templateBlock", "templateInline", "feedbackBlock", "feedbackInline", "printedVariable")


class Reader:
    """One item as it is read."""

    def __init__(self, item: Item, found: Taken, picture: Callable[[str, str], bytes | None]) -> None:
        self.item, self.root, self.found = item, item.root, found
        self._picture = picture
        self.lost: list[str] = []
        self.pictures: dict[str, bytes] = {}
        self.shown: dict[str, str] | None = None
        identifier, title = self.root.get("identifier", ""), self.root.get("title", "")
        self.title = title or identifier
        self.id = found.new_id(identifier.removeprefix(PREFIX) if identifier.startswith(PREFIX) else self.title)
        self.feedback: dict[str, str] = {}  # Markdown, by the identifier that shows it
        self.used: set[str] = set()
        self.unit = ""

    def markdown(self, element: Element | None, pictured: bool = False) -> str:
        """What is in an element, as Markdown."""
        if element is None:
            return ""
        made = unmarkup.markdown(_html(element))
        self.lost += made.lost
        for address, alt in made.pictures:
            if not (pictured and self.shown is None and self._take(address, alt)):
                self.lost.append(f"the picture {address[:60]}")
        return made.text

    def _take(self, address: str, alt: str) -> bool:
        data = self._picture(self.item.path, address)
        kept = None if data is None else kept_as(self.id, address, data, self.found)
        if data is None or kept is None:
            return False
        self.pictures[kept] = data
        self.shown = {"file": kept, "alt": " ".join(alt.split())[:500] or "a picture"}
        return True

    def shown_for(self, name: str) -> str:
        """Modal feedback on an answer."""
        self.used.add(name)
        return self.feedback.get(name, "")

    def question(self) -> dict[str, Any]:
        """The item as a question. Raises ValueError with the reason why it can't be taken."""
        body = self.root.find("itemBody")
        interactions = [one for one in body.iter() if is_interaction(one)] if body is not None else []
        if body is None or not interactions:
            raise ValueError("a text, which asks for nothing")
        if len(interactions) > 1:
            raise ValueError(f"{len(interactions)} interactions; a question has one")
        if self._is_template(body):
            raise ValueError("a template, whose text or right answer is drawn anew for each learner")
        if self.root.get("adaptive") == "true":
            self.lost.append("that it is adaptive: an answer may change what is asked next")
        interaction = interactions[0]
        if interaction.tag not in KINDS:
            raise ValueError(f"an interaction of type {interaction.tag.removesuffix('Interaction')[:40]!r}")
        made = {"id": self.id, "text": self._text(body, interaction), "picture": self.shown}
        made["explanation"] = self._explanation()
        made |= KINDS[interaction.tag](self, interaction)
        if made["type"] != "poll":
            made["points"] = importer.number(self.item.points) if self.item.points not in ("", "1") else None
        seconds = self.item.seconds
        made["seconds"] = max(5, min(3600, round(importer.number(seconds)))) if seconds else None
        made["tags"] = list(dict.fromkeys(" ".join(tag.split()) for tag in self.item.tags if tag.strip()))
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
            for child in [one for one in parent if is_interaction(one)]:
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
    found = Taken(name)
    if data[:2] != b"PK":
        if (version := qti_version.version_of(data)) in ("1.2", "3"):
            raise BadInput(f"{name} {qti_version.refusal(version)}")
        root = xml.parse(data, name)
        if root.tag != "assessmentItem":
            raise BadInput(
                f"{name} begins with <{root.tag[:40]}>; it should be a QTI package (.zip) or <assessmentItem>."
            )
        _take(found, Reader(Item("", root), found, lambda beside, address: None))
        return found.imported()
    package = qti_package.unpacked(data, name)
    if package.test is not None:
        identifier = package.test.get("identifier", "")
        found.title = package.test.get("title", "")
        found.id = identifier.removeprefix("T_") if identifier.startswith("T_") else found.title
        rubric = next(xml.all_of(package.test, "rubricBlock"), None)
        if rubric is not None:
            found.about = unmarkup.markdown(_html(rubric)).text
    for path in package.missing:
        found.leave(path, "not taken: it isn't in the package")
    for item in package.items:
        if item.root.tag == "assessmentItem":
            _take(
                found, Reader(item, found, lambda beside, address: package.files.get(qti_package.at(beside, address)))
            )
        else:
            found.leave(item.path, f"not taken: it begins with <{item.root.tag[:40]}>, which is no item of QTI 2")
    return found.imported()


def _take(found: Taken, reader: Reader) -> None:
    try:
        made = reader.question()
    except ValueError as error:
        found.leave(reader.title, f"not taken: {error}")
        return
    if any(text for name, text in reader.feedback.items() if name not in reader.used):
        reader.lost.append("feedback that depends on the answer in a way of its own")
    if found.add(made, reader.lost):
        found.pictures |= reader.pictures


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
