"""Markdown as HTML: what it becomes, and that nothing in it can run, load or lead elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.quiz import markup
from tests.quiz.decks import NASTY, markdown
from workshop.quiz.rendering import html, names, names_in_formulas, plain, problems

# Markup that must be read, not obeyed.
HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>*{display:none}</style>",
    "<!-- x --><?php x ?><!DOCTYPE x><![CDATA[x]]>",
    "<math><mtext></mtext><script>alert(1)</script></math>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "`<script>alert(1)</script>`",
    '```"><script>alert(1)</script>\n<b>\n```',
    '~~~ x" onclick="alert(1)\n<b>\n~~~',
    "    <script>alert(1)</script>",
    "| <script> | <b onclick=x> |\n|:--|--:|\n| <i> | </table> |",
    "# <script>",
    "- <script>\n- <!--",
    "1. <script>\n\n2) --></math>",
    "> <script>",
    r"$\text{<script>alert(1)</script>}$",
    r"$$\text{</mtext></math><img src=x onerror=alert(1)>}$$",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\style{background:url(//evil.example)}{x}$",
    r"$\class{x\" onclick=\"alert(1)}{x}$",
    r"$\id{x}{y}$",
    r"$\color{red\" onclick=\"alert(1)}{x}$",
    r"$\rule{1em\" onclick=\"x}{1em}$",
    r"$\hspace{1em\" onclick=\"x}$",
    r"$\genfrac{<}{>}{1pt\" onclick=\"x}{0}{a}{b}$",
    r"$\mathrm{<script>}$",
    r"$\operatorname{<script>}$",
    r"$\unicode{x3c}script$",
    r"$\char60 script\char62$",
    r"$&lt;script&gt;$",
    r"$\text{&lt;script&gt;}$",
    r"$\text{&amp;lt;script&amp;gt;}$",
]
ADDRESSES = [
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](https://evil.example/ 'title\" onclick=\"x')",
    "[x]: https://evil.example\n\n[x]",
    "<https://evil.example>",
    "<javascript:alert(1)>",
    "![x](https://evil.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[![x](y.png)](https://evil.example)",
]


@pytest.mark.parametrize("text", HOSTILE + ADDRESSES)
def test_markup_and_addresses_are_only_text(text: str) -> None:
    for written in (text, f"before {text} behind", f"* {text}\n* two", f"**{text}**"):
        made = html(written)
        assert markup.wrong(made) == [], made
        assert "alert(1)" not in made or "alert(1)" in markup.text(made)


PIECES = st.sampled_from([*HOSTILE, *ADDRESSES, *NASTY, "$", "$$", "`", "\n", "\n\n", "  ", "{n}", "\\", "|", "<", "&"])


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=10), max_size=8).map("".join) | markdown(), st.floats(-1e6, 1e6))
@example("$\\text{a\x00b}$", 1.0)
def test_whatever_is_written_only_harmless_elements_come_out(text: str, number: float) -> None:
    made = html(text, {"n": number})
    assert markup.wrong(made) == [], made
    assert plain(text, {"n": number}) == " ".join(plain(text, {"n": number}).split())
    for problem in problems(text):
        assert problem and "\n" not in problem


def test_what_markdown_becomes() -> None:
    assert html("a **b** *c* `d<e`") == "<p>a <strong>b</strong> <em>c</em> <code>d&lt;e</code></p>"
    assert html("# T\n\n###### t") == "<h4>T</h4>\n<h4>t</h4>", "headings stand under those of the page"
    assert html("```python extra\nx < 1\n```") == '<pre><code class="language-python">x &lt; 1\n</code></pre>'
    assert html("~~~ a&nbsp;b") == '<pre><code class="language-a"></code></pre>', "entities separate words, too"
    assert html("```{x}\ny\n```") == "<pre><code>y\n</code></pre>"
    assert "<li>one</li>" in html("- one\n- two")
    table = html("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert '<th class="align-right">b</th>' in table and "<td>1</td>" in table


def test_links_are_words_with_their_address() -> None:
    assert html("[the manual](https://a.example/b)") == "<p>the manual (https://a.example/b)</p>"
    assert html("<https://a.example>") == "<p>https://a.example</p>"
    assert html("[**bold** words](b) and [c](d)") == "<p><strong>bold</strong> words (b) and c (d)</p>"
    assert html("![what it shows](x.png)") == "<p>what it shows</p>"


def test_numbers_stand_in_texts_and_formulas_but_not_in_code() -> None:
    text = "{n} of `{n}` and \\{n}, {other}, $2^{n} \\cdot x_{i} \\text{n}\\text{ {n}}$"
    made = html(text, {"n": 4.0})
    assert made.startswith("<p>4 of <code>{n}</code> and {n}, {other}, <math")
    assert "<mn>4</mn>" in made and "<mi>i</mi>" in made and "<mtext>n</mtext>" in made
    assert names(text) == {"n", "other"}
    assert names_in_formulas(text) >= {"n", "i"}
    assert plain("**{n}** ranks of\n\n`x` and $n^{n}$", {"n": 0.5}) == "0.5 ranks of x and n^{0.5}"
    assert html("{a_b} and {c_d}", {"a_b": 1e-6, "c_d": 1e6}) == "<p>1e-6 and 1000000</p>"


def test_formulas() -> None:
    inline = html("so $\\frac{t_1}{t_n}$ is it")
    assert inline.startswith("<p>so <math ") and 'display="inline"><mrow><mfrac>' in inline
    assert 'display="block">' in html("$$\na < b\n$$")
    for broken in (r"$\frac{1}$", r"$\foo$", "$x^$", "${$"):
        assert "<math" not in html(broken) and markup.text(html(broken)) == broken, "shown as it is written"
        assert len(problems(broken)) == 1
    assert problems("$x$ `$\\foo$` and ![a](b)") == [
        "a picture in the text isn't shown; it should be the question's picture, with file and alt"
    ]
    assert problems(r"$\frac{a}{b}$ $\sqrt{n}$ $\sum_{i=1}^{n} x_i$ $a \le b$ $\log_2 p$", {"n": 2.0}) == []


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"\newcommand{\x}{\x\x}\x", "can't be read (recursion)"),
        (r"\href{x}{y}", "asks for href"),
        (r"\begin{matrix}a", "can't be read (missing end)"),
    ],
)
def test_why_a_formula_is_not_shown(latex: str, said: str) -> None:
    (problem,) = problems(f"${latex}$")
    assert said in problem
