"""Convert Markdown of notes and deviations to HTML and LaTeX."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pylatexenc.latexencode import UnicodeToLatexEncoder

# Characters that pylatexenc does not convert, or converts to macros that some engines do not have.
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
# Latin, Greek, punctuation, arrows and operators whose macros need only the packages of the report.
COVERED = re.compile(
    "[\u0020-\u007e\u00a0-\u017f\u0391-\u03c9\u03f5\u2010-\u2026\u2113\u2200-\u220b\u2211-\u221e\u2223-\u222b\u2248\u2260-\u2265]"
)
# Letters and quotation marks of a font encoding that is loaded only if its fonts are installed.
OTHER_FONTS = re.compile(
    r"\\(DH|dh|TH|th|DJ|dj|IJ|ij|NG|ng|k|nument|textsc|guil\w+|quote(sing|dbl)l?base)(?![A-Za-z])"
)

OPTION = re.compile(r"^( *)([\[*])")

# Text whose spaces do not break: intervals, seeds ({+1.2, +1.6}), counts (7 cells; 3 of 7), places (Table 3), and a
# word after a symbol.
WHOLE = re.compile(r"[\[{][−+\d.,% ]+[\]}]|\(\d+ cells?\)|^\d+ of \d+$|\b(Section|Table|Figure) \b|^[^\w\s] ")


def kept_whole(text: str) -> str:
    """Use no-break spaces in intervals, counts, places and after symbols."""
    return WHOLE.sub(lambda match: match[0].replace(" ", "\u00a0"), text)


@cache
def _parser() -> MarkdownIt:
    # Raw HTML stays text, so that a report neither runs nor loads anything from a paper's folder.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", lambda _, tokens, place, *__: escape(tokens[place].content))
    return parser


def html_blocks(text: str, below: int = 0) -> str:
    """Convert Markdown to HTML blocks.

    Raw HTML is escaped, and headings are lowered by `below` levels.
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

    An unknown character becomes its code point.
    """
    characters = []
    for character in unicodedata.normalize("NFC", text):
        if character.isprintable() or character == "\u00a0":
            characters.append(_character(character))
        elif character.isspace():
            characters.append(" ")
    # TeX would turn two hyphens into a dash, which is wrong for `--option`.
    latex = re.sub("-(?=-)", "-{}", "".join(characters))
    # At the start of a line, TeX would read [ or * as the option of the command before it.
    return OPTION.sub(r"\1{\2}", latex)


def latex_code(text: str) -> str:
    """Convert text to typewriter type that may break after separators."""
    pieces = [latex_text(piece) for piece in re.split(r"(?<=[/.;:=_-])(?=.)", text)]
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

    The library, its decomposition and its code point are tried in this order.
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
    return rf"\text{kind[1:-1]}script{{{latex}}}" if kind in ("<super>", "<sub>") else latex


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
    """Yield LaTeX for block tokens.

    Of unsupported markup only the text is kept.
    """
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
    shares = [0.48 / count + 0.48 * root / (sum(roots) or 1) for root in roots]
    kind = r">{{\raggedright\arraybackslash}}p{{\dimexpr {:.3f}\linewidth-2\tabcolsep}}"
    return "".join(map(kind.format, shares))


def _verbatim(text: str) -> str:
    lines = [latex_code(line.replace(" ", "\u00a0")) + r"\\" for line in text.rstrip("\n").split("\n")]
    body = "\n".join(lines).removesuffix(r"\\")
    return f"\\begin{{quote}}\\raggedright\\small\n{body}\n\\end{{quote}}\n\n"
