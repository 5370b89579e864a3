"""Look in every text for users for the words that docs/style.md replaces; part of make lint.

Texts for users are the documentation, the skeletons and templates, what the papers' files say of papers, tables and
protocols, and each string of two or more words in the package: docstrings, help, sentences of errors, texts of reports.
Claims are left out: they are the papers' sentences.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKDOWN = (
    "README.md", "CONTRIBUTING.md", "docs/*.md", "config/README.md", "workflow/profiles/README.md",
    "workflow/papers/*/deviations.md", "reports/studies/**/README.md", "src/replicse/skeletons/**/*.md",
)  # fmt: skip
TEMPLATES = ("src/replicse/show/formats/templates/*.j2", "src/replicse/skeletons/**/*.yaml")
PAPERS = tuple(f"workflow/papers/*/{name}.yaml" for name in ("paper", "protocols", "tables/*"))
NOTEBOOKS = ("examples/*.ipynb",)
# Sentences that are data: the embedded English, and prepositions of augmentation.
DATA = ("src/replicse/world/", "src/replicse/augment/synonyms.py")
ROW = re.compile(r"^\| `(.+?)` \| ([^|]+) \|", re.MULTILINE)
NAMES = re.compile(r"`[^`]*`")
CODE = re.compile(r"^ {4}[^\n]*$|^```.*?^```$|`[^`]*`", re.MULTILINE | re.DOTALL)
NO_TEXT = re.compile(r"(?:^|\s)#[^\n]*$|\bid: [\w-]+", re.MULTILINE)
TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<[^>]*>", re.DOTALL)


def words(root: Path) -> dict[re.Pattern[str], str]:
    """Return the patterns of the style guide, each with what to write instead."""
    rows = ROW.findall((root / "docs/style.md").read_text(encoding="utf-8"))
    return {
        re.compile(rf"\b(?:{each})\b".replace(r"\|", "|"), re.IGNORECASE): instead for each, instead in rows
    }


def texts(root: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield every text for users, with its file and the line where it begins."""
    for file in files(root, MARKDOWN):
        text = file.read_text(encoding="utf-8")
        yield file, 1, blanked(CODE, text if file.name != "style.md" else text.partition("## Words")[0])
    for file in files(root, TEMPLATES):
        yield file, 1, blanked(TEMPLATE, file.read_text(encoding="utf-8"))
    for file in files(root, PAPERS):
        yield file, 1, blanked(NO_TEXT, file.read_text(encoding="utf-8"))
    for file in files(root, NOTEBOOKS):
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield file, 1, blanked(CODE, "".join(cell["source"]))
    for file in files(root, ("src/**/*.py", "workflow/papers/*/*.py")):
        place = file.relative_to(root).as_posix()
        for line, text, docstring in strings(file.read_text(encoding="utf-8")):
            if docstring or not place.startswith(DATA):
                yield file, line, blanked(NAMES, text)


def files(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files of some patterns."""
    for pattern in patterns:
        yield from sorted(root.glob(pattern))


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return text without what a pattern matches, with as many lines."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n") or "…", text)


def strings(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each string of two or more words of a module: its line, its text, and whether it is a docstring.

    What an f-string fills in is an ellipsis.
    """
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        if " " in text.strip():
            yield node.lineno, text, id(node) in documented


def found(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each word that the style guide replaces."""
    patterns = words(root)
    for file, line, text in texts(root):
        for pattern, instead in patterns.items():
            for match in pattern.finditer(text):
                place = line + text.count("\n", 0, match.start())
                yield f'{file.relative_to(root)}:{place}: "{match[0]}": write {instead}'


if __name__ == "__main__":
    problems = sorted(found())
    print("\n".join(problems))
    sys.exit(bool(problems))
