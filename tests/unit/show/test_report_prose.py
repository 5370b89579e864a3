"""Markdown and plain text as HTML and LaTeX."""

import re

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from replicse.show.formats.markdown import escape_html
from replicse.show.formats.prose import (
    html_blocks,
    html_inline,
    kept_whole,
    latex_address,
    latex_blocks,
    latex_inline,
    latex_text,
)


@cases
def test_plain_text_as_latex(text, latex):
    assert latex_text(text) == latex


@given(st.text())
def test_any_text_is_latex_that_every_engine_can_read(text):
    latex = latex_text(text)
    assert latex.isascii() and latex.isprintable()
    bare = re.sub(r"\\[\\{}$&#%_]", "", latex)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not set("&#%_") & set(re.sub(r"\$[^$]*\$", "", bare))


@given(st.text(max_size=200))
def test_any_markdown_gives_balanced_latex_and_no_raw_html(text):
    latex = latex_blocks(text)
    bare = re.sub(r"\\[\\{}$&#%_^~]", "", latex)
    assert bare.count("{") == bare.count("}")
    assert latex.count(r"\begin{") == latex.count(r"\end{")
    assert latex_inline(text).count("\n\n") == 0
    assert "<script" not in html_blocks(text + "<script>alert(1)</script>").lower()


@given(st.text(max_size=100), st.sampled_from(["", "`", "\\", "\n\n", "<https://example.org>"]))
def test_any_markdown_without_html_is_parsed_without_html(text, before):
    for each in (f"{text}{before}<script>{text}", f"{before}<!--{text}-->", f"{text}\n<?{before}?></b>"):
        tokens = MarkdownIt("commonmark").enable("table").parse(escape_html(each))
        kinds = [token.type for token in tokens]
        for token in tokens:
            kinds += [child.type for child in token.children or ()]
        assert not {"html_block", "html_inline"} & {*kinds}, each


def test_raw_html_and_script_links_stay_text():
    assert html_inline("<b>x</b> & y") == "&lt;b&gt;x&lt;/b&gt; &amp; y"
    assert "href" not in html_blocks("[x](javascript:alert)")
    assert "href" not in latex_inline("[x](javascript:alert)")


def test_blocks_as_latex():
    text = (
        "# Head\n\nOne *em* **strong** `a_b`\nsame paragraph.\n\n1. first\n2. second\n\n> quoted\n\n"
        "| a | b |\n|---|---|\n| 1% | 2 |\n\n```\nx  --y\n```\n\n---\n\n![alt](x.png)\n"
    )
    latex = latex_blocks(text)
    assert r"\section{Head}" in latex
    assert r"One \emph{em} \textbf{strong} \texttt{a\_\allowbreak{}b}" + "\nsame paragraph." in latex
    assert "\\begin{enumerate}\n\\item first" in latex
    assert "\\begin{quote}\nquoted" in latex
    assert "\\toprule\na & b \\\\\n\\midrule\n1\\% & 2 \\\\\n\\bottomrule\n\\end{tabular}" in latex
    assert r"\texttt{x~~-\allowbreak{}-\allowbreak{}y}" in latex
    assert "alt" in latex and "includegraphics" not in latex


def test_links():
    assert latex_inline("[a_b](https://e.org/x_y%20z#l)") == r"\href{https://e.org/x\_y\%20z\#l}{a\_b}"
    assert latex_address("https://e.org/50%#a&b") == r"https://e.org/50\%\#a\&b"
    assert html_inline("[a](https://e.org)") == '<a href="https://e.org">a</a>'


@pytest.mark.parametrize("whole", ["[−12.2, −8.4]", "(7 cells)", "3 of 7", "Table 3", "✓ supported"])
def test_what_belongs_together_does_not_break(whole):
    assert kept_whole(whole) == whole.replace(" ", "\u00a0")
    assert kept_whole("a word, then Another") == "a word, then Another"
