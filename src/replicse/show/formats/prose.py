"""Convert Markdown of notes and deviations to HTML and LaTeX."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pylatexenc.latexencode import UnicodeToLatexEncoder

# Characters that pylatexenc does not convert, or converts to macros that some engines do not support.
SYMBOLS = {
    "|": r"\textbar{}",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "≠": r"$\neq$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "◇": r"$\Diamond$",
    "○": r"$\circ$",
    "✗": r"$\boldsymbol{\times}$",
    "✓": r"$\checkmark$",
    "★": r"$\bigstar$",
    "♣": r"$\clubsuit$",
    "♡": r"$\heartsuit$",
    "♥": r"$\heartsuit$",
    "♠": r"$\spadesuit$",
    "♢": r"$\diamondsuit$",
    "♦": r"$\diamondsuit$",
}
# Latin, Greek, punctuation, arrows and operators whose macros require only the packages of the report.
COVERED = re.compile(
    "[\u0020-\u007e\u00a0-\u017f\u0391-\u03c9\u03f5\u2010-\u2026\u2113\u2200-\u220b\u2211-\u221e\u2223-\u222b\u2248\u2260-\u2265]"
)
# Letters and quotation marks of a font encoding that is used only if the fonts are installed.
OTHER_FONTS = re.compile(
    r"\\(DH|dh|TH|th|DJ|dj|IJ|ij|NG|ng|k|nument|textsc|guil\w+|quote(sing|dbl)l?base)(?![A-Za-z])"
)

OPTION = re.compile(r"^( *)([\[*])")

# Text that should not be split: intervals, seeds ({+1.2, +1.6}), counts (7 cells; 3 of 7), places (Table 3), and a
# symbol with a word.
WHOLE = re.compile(r"[\[{][−+\d.,% ]+[\]}]|\(\d+ cells?\)|^\d+ of \d+$|\b(Section|Table|Figure) \b|^[^\w\s] ")


def kept_whole(text: str) -> str:
    """Use no-break spaces in intervals, counts, places and after symbols."""
    return WHOLE.sub(lambda match: match[0].replace(" ", "\u00a0"), text)


@cache
def _parser() -> MarkdownIt:
    # Raw HTML is disabled, because it could run or load code from the folder of a paper.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", lambda _, tokens, place, *__: escape(tokens[place].content))
    return parser


def html_blocks(text: str, below: int = 0) -> str:
    """Convert Markdown to HTML blocks; raw HTML is escaped.

    Args:
        text: Markdown.
        below: The number of levels to add to headings. Default: 0.
    """
    tokens = _parser().parse(text)
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = f"h{min(6, int(token.tag[1:]) + below)}"
        elif token.type == "table_open":
            token.attrSet("class", "plain")
    return str(_parser().renderer.render(tokens, _parser().options, {})).strip()


def html_inline(text: str) -> str:
    """Convert a paragraph of Markdown to HTML without a paragraph tag."""
    return _parser().renderInline(" ".join(text.split()))


def latex_blocks(text: str) -> str:
    """Convert Markdown blocks to LaTeX."""
    return "".join(_blocks(_parser().parse(text))).strip()


def latex_inline(text: str) -> str:
    """Convert a paragraph of Markdown to LaTeX."""
    return "".join(_inline(_parser().parseInline(" ".join(text.split()))[0].children or []))


def latex_text(text: str) -> str:
    """Convert plain text to LaTeX for every engine.

    An unknown character is replaced with a code point such as U+4E00.
    """
    characters = []
    for character in unicodedata.normalize("NFC", text):
        if character.isprintable() or character == "\u00a0":
            characters.append(_character(character))
        elif character.isspace():
            characters.append(" ")
    # TeX converts two hyphens to a dash, which is wrong for `--option`.
    latex = re.sub("-(?=-)", "-{}", "".join(characters))
    # At the start of a line, TeX parses [ or * as an option of the previous command.
    return OPTION.sub(r"\1{\2}", latex)


def latex_code(text: str) -> str:
    """Convert text to a monospaced font that can break after separators."""
    pieces = map(latex_text, re.split(r"(?<=[/.;:=_-])(?=.)", text))
    return r"\texttt{" + r"\allowbreak{}".join(pieces) + "}"


@cache
def _library() -> UnicodeToLatexEncoder:
    return UnicodeToLatexEncoder(
        replacement_latex_protection="braces-after-macro",
        unknown_char_policy="keep",
        unknown_char_warning=False,
    )


@cache
def _character(character: str) -> str:
    """Convert a character to LaTeX.

    The library is used if it supports the character, else the Unicode decomposition, else the code point.
    """
    if character in SYMBOLS:
        return SYMBOLS[character]
    if COVERED.match(character):
        latex = _library().unicode_to_latex(character)
        if latex.isascii() and not OTHER_FONTS.search(latex):
            return latex
    parts = unicodedata.normalize("NFKD", character)
    base = "".join(part for part in parts if not unicodedata.combining(part))
    if base == character or not base:
        return rf"\texttt{{U+{ord(character):04X}}}"
    kind = unicodedata.decomposition(character).partition(" ")[0]
    latex = "".join(map(_character, base))
    if kind in ("<super>", "<sub>"):
        return rf"\text{kind[1:-1]}script{{{latex}}}"
    return latex


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield LaTeX for the children of an inline token."""
    simple = {
        "em_open": r"\emph{",
        "strong_open": r"\textbf{",
        "softbreak": "\n",
        "hardbreak": r"\\" + "\n",
        "link_close": "}",
        "em_close": "}",
        "strong_close": "}",
    }
    for token in tokens:
        if token.type in simple:
            yield simple[token.type]
        elif token.type == "code_inline":
            yield latex_code(token.content)
        elif token.type == "link_open":
            yield rf"\href{{{latex_address(str(token.attrs['href']))}}}{{"
        else:
            yield latex_text(token.content)


def latex_address(address: str) -> str:
    r"""Escape a URL for the first argument of \href, also inside another macro."""
    return re.sub(r"([%#&_{}~^\\])", r"\\\1", address)


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield LaTeX for block tokens; unsupported markup becomes plain text."""
    simple = {
        "paragraph_close": "\n\n",
        "heading_close": "}\n",
        "bullet_list_open": "\\begin{itemize}\n",
        "bullet_list_close": "\\end{itemize}\n\n",
        "ordered_list_open": "\\begin{enumerate}\n",
        "ordered_list_close": "\\end{enumerate}\n\n",
        "list_item_open": r"\item ",
        "blockquote_open": "\\begin{quote}\n",
        "blockquote_close": "\\end{quote}\n\n",
        "hr": "\\medskip\\hrule\\medskip\n\n",
        "table_close": "\\bottomrule\n\\end{tabular}\n\n",
        "thead_close": "\\midrule\n",
    }
    heading = ""
    for place, token in enumerate(tokens):
        if token.type in simple:
            yield simple[token.type]
        elif token.type == "heading_open":
            heading = latex_inline(tokens[place + 1].content)
            yield {"h1": r"\section{", "h2": r"\subsection{"}.get(token.tag, r"\paragraph{")
        elif token.type == "inline":
            yield "".join(_inline(token.children or []))
        elif token.type in ("fence", "code_block"):
            yield _verbatim(token.content)
        elif token.type == "table_open":
            yield rf"\itemcaption{{{heading}}}" if heading else ""
            yield f"\\noindent\\begin{{tabular}}{{@{{}}{_column_kinds(tokens[place:])}@{{}}}}\n\\toprule\n"
        elif token.type in ("th_close", "td_close"):
            yield " & " if tokens[place + 1].type in ("th_open", "td_open") else r" \\" + "\n"


def _column_kinds(tokens: Sequence[Token]) -> str:
    """Return the LaTeX column types of a table."""
    end = next(place for place, token in enumerate(tokens) if token.type == "table_close")
    count = sum(token.type == "th_open" for token in tokens[:end])
    texts = [token.content for token in tokens[:end] if token.type == "inline"]
    roots = [max(map(len, texts[column::count])) ** 0.5 for column in range(count)]
    kinds = ""
    for root in roots:
        share = 0.48 / count + 0.48 * root / (sum(roots) or 1)
        kinds += rf">{{\raggedright\arraybackslash}}p{{\dimexpr {share:.3f}\linewidth-2\tabcolsep}}"
    return kinds


def _verbatim(text: str) -> str:
    lines = [latex_code(line.replace(" ", "\u00a0")) + r"\\" for line in text.rstrip("\n").split("\n")]
    body = "\n".join(lines).removesuffix(r"\\")
    return f"\\begin{{quote}}\\raggedright\\small\n{body}\n\\end{{quote}}\n\n"
