"""Plain English: sentences that readers who learned English at school can't follow at once.

The rules are those of docs/style.md. Each pattern has a pair there, before and after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 30  # words of a sentence
MEAN = 17.0  # words of a sentence, over a whole text

# What a pattern matches, and what to write instead.
PATTERNS = (
    (r"\b(?:that|those) (?:of|in|on|with|from) (?:it|them|which)\b", "name the thing instead of `that of it`"),
    (r"^(?:What|Who|Whoever|Where|Whatever) [a-z' ]+ (?:is|are|has|have|was|were|does|do|gets|takes)\b(?![^?]*\?)",
     "name the subject instead of beginning with a clause"),
    (r"^(?:Nor|Neither|So|Only|Not|Never|Hardly|Seldom) (?:is|are|was|were|has|have|does|do|did|can|could|will)\b",
     "put the subject before the verb"),
    (r"^(?:In|On|Behind|Beside|Below|Above|Between) [a-z ]+ (?:stands?|stood|lies?|lay|comes?|came|sits?)\b",
     "put the subject before the verb"),
    (r"\bnothing but\b|\bnone but\b|\ball but\b", "say it without `but`"),
    (r"\bwho(?:ever)? (?:has|is|does|wants|needs) [a-z ]+ (?:has|is|gets|takes|needs)\b", "say `a learner who ...`"),
    (r"\bthe (?:one|other) (?:is|has|does)\b", "name the thing instead of `the one`"),
    (r"\bmeanwhile\b|\bthereby\b|\bwherein\b|\bthereof\b|\bhence\b|\bhitherto\b", "use a common word"),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, re.MULTILINE), advice) for pattern, advice in PATTERNS]
_CODE = re.compile(
    r"(?ms)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1\s*$|\Z)|^(?: {4}|\|).*$|`[^`\n]+`|\$[^$]+\$|!?\[([^\]]*)\]\([^)]*\)"
)
_SENTENCE = re.compile(r"[^.!?:;]+(?:[.!?:;]+(?=\s|$)|$)")


def problems(text: str) -> Iterator[tuple[int, str]]:
    """The hard sentences of a Markdown text: the line, from 0, and what is hard about the sentence."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]) if not code[2] else code[2], text)
    lengths = []
    for line, sentence in _sentences(prose):
        words = len(re.findall(r"[\w'’%-]+", sentence))
        lengths.append(words)
        if words > LONGEST:
            yield line, f"a sentence has {words} words, more than {LONGEST}: {_quoted(sentence)}"
        for pattern, advice in _PATTERNS:
            if pattern.search(sentence):
                yield line, f"{advice}: {_quoted(sentence)}"
    if lengths and (mean := sum(lengths) / len(lengths)) > MEAN:
        yield 0, f"the sentences have {mean:.1f} words on average, more than {MEAN:g}"


def _sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Sentences on one line each, with the line on which each begins. Headings and list items end a sentence."""
    blocks = re.split(r"(\n\s*\n|\n(?=\s*(?:[-*#>]|\d+\.)\s))", prose)
    line = 0
    for block in blocks:
        for match in _SENTENCE.finditer(block):
            sentence = " ".join(match[0].split()).lstrip("-*#> ")
            if sentence:
                leading = len(match[0]) - len(match[0].lstrip())
                yield line + block.count("\n", 0, match.start() + leading), sentence
        line += block.count("\n")


def _quoted(sentence: str) -> str:
    return repr(sentence if len(sentence) <= 80 else sentence[:79] + "…")
