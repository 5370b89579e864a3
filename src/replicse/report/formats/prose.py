"""Text written by people (captions, notes, deviations): Markdown to HTML and to LaTeX."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "\u00a0": "~",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "…": r"\ldots{}",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
    "©": r"\copyright{}",
}
# Written in mathematics, so that every engine and every font has them.
MATHEMATICS = {
    "→": r"\rightarrow",
    "←": r"\leftarrow",
    "↑": r"\uparrow",
    "↓": r"\downarrow",
    "−": "-",
    "±": r"\pm",
    "×": r"\times",
    "·": r"\cdot",
    "≈": r"\approx",
    "≠": r"\neq",
    "≤": r"\leq",
    "≥": r"\geq",
    "∞": r"\infty",
    "∈": r"\in",
    "√": r"\surd",
    "∥": r"\Vert",
    "ℓ": r"\ell",
    "°": r"^\circ",
    "▲": r"\blacktriangle",
    "▼": r"\blacktriangledown",
    "◇": r"\Diamond",
    "○": r"\circ",
    "✗": r"\boldsymbol{\times}",
    "✓": r"\checkmark",
    "★": r"\bigstar",
    "♣": r"\clubsuit",
    "♡": r"\heartsuit",
    "♥": r"\heartsuit",
    "♠": r"\spadesuit",
    "♢": r"\diamondsuit",
    "♦": r"\diamondsuit",
    "ϵ": r"\epsilon",
}
LOOKALIKES = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo")
ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
}


@cache
def _parser() -> MarkdownIt:
    # Raw HTML stays text: a report shows what a paper's folder says and runs nothing of it.
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def html_blocks(text: str) -> str:
    """Return Markdown as HTML blocks; raw HTML in it is escaped."""
    return _parser().render(text).strip()


def html_inline(text: str) -> str:
    """Return one paragraph of Markdown as HTML without its paragraph tag."""
    return _parser().renderInline(" ".join(text.split()))


def latex_blocks(text: str) -> str:
    """Return Markdown as LaTeX: paragraphs, lists, tables, quotations and code."""
    return "".join(_blocks(_parser().parse(text))).strip()


def latex_inline(text: str) -> str:
    """Return one paragraph of Markdown as LaTeX."""
    return "".join(_inline(_parser().parseInline(" ".join(text.split()))[0].children or []))


def latex_text(text: str) -> str:
    """Return plain text as LaTeX that compiles in every engine; a character none knows becomes its number."""
    characters = unicodedata.normalize("NFC", text).translate(LOOKALIKES)
    # TeX would join hyphens to a dash, and `--option` must stay what is typed.
    return re.sub("-(?=-)", "-{}", "".join(_latex_character(character) for character in characters))


def latex_code(text: str) -> str:
    """Return plain text in typewriter type that may break after a separator."""
    pieces = [latex_text(piece) for piece in re.split(r"(?<=[/.;:=_-])(?=.)", text)]
    return r"\texttt{" + r"\allowbreak{}".join(pieces) + "}"


def _latex_character(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    if character in MATHEMATICS:
        return f"${MATHEMATICS[character]}$"
    if character.isspace():
        return " "
    if character.isascii() or not character.isprintable():
        return character if character.isprintable() else ""
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (FINAL )?(\w+)", unicodedata.name(character, ""))
    if greek:
        name = greek[3].lower().replace("lamda", "lambda")
        return rf"$\{'var' if greek[2] else ''}{name if greek[1] == 'SMALL' else name.capitalize()}$"
    return _decomposed(character)


def _decomposed(character: str) -> str:
    """Return an accented letter, a superscript or a subscript from its parts."""
    kind, *codes = unicodedata.decomposition(character).split() or [""]
    if kind in ("<super>", "<sub>"):
        base = latex_text("".join(chr(int(code, 16)) for code in codes))
        return rf"\text{'super' if kind == '<super>' else 'sub'}script{{{base}}}"
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in ACCENTS:
        return rf"\{ACCENTS[parts[1]]}{{{parts[0]}}}"
    compatible = unicodedata.normalize("NFKD", character)
    if compatible == character:
        return rf"\texttt{{U+{ord(character):04X}}}"
    return "".join(_latex_character(part) for part in compatible if not unicodedata.combining(part))


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
            yield rf"\href{{{_address(str(token.attrs['href']))}}}{{"
        elif token.type == "image":
            yield latex_text(token.content)
        else:
            yield latex_text(token.content)


def _address(address: str) -> str:
    return re.sub(r"([%#&_{}~^\\])", r"\\\1", address)


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield LaTeX for block tokens; markup without a counterpart leaves its text."""
    simple = {
        "paragraph_close": "\n\n",
        "heading_open": r"\paragraph{",
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
    for place, token in enumerate(tokens):
        if token.type in simple:
            yield simple[token.type]
        elif token.type == "inline":
            yield "".join(_inline(token.children or []))
        elif token.type in ("fence", "code_block"):
            yield _verbatim(token.content)
        elif token.type == "table_open":
            columns = _columns(tokens[place:])
            share = (
                rf">{{\raggedright\arraybackslash}}p{{\dimexpr {0.96 / columns:.3f}\linewidth-2\tabcolsep}}"
            )
            yield f"\\noindent\\begin{{tabular}}{{@{{}}*{{{columns}}}{{{share}}}@{{}}}}\n\\toprule\n"
        elif token.type in ("th_close", "td_close"):
            yield " & " if tokens[place + 1].type in ("th_open", "td_open") else r" \\" + "\n"


def _columns(tokens: Sequence[Token]) -> int:
    end = next(place for place, token in enumerate(tokens) if token.type == "tr_close")
    return sum(token.type == "th_open" for token in tokens[:end])


def _verbatim(text: str) -> str:
    lines = [latex_code(line.replace(" ", "\u00a0")) + r"\\" for line in text.rstrip("\n").split("\n")]
    body = "\n".join(lines).removesuffix(r"\\")
    return f"\\begin{{quote}}\\raggedright\\small\n{body}\n\\end{{quote}}\n\n"
