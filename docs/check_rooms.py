"""Compare the package with the table of docs/architecture.md, and keep it from growing unseen; part of make lint.

A room imports what its line lists, rooms or single modules of one, and has at most the lines of code that it says:
who raises that number says in the commit which capability it buys. Those that the page names as such never import
torch. Names of public classes are unique, a file has at most 350 lines, there are at most eighteen verbs and two
environment variables.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src", "replicse")
LINE = re.compile(r"^\| `(\w+)` \| [^|]* \|([^|]*)\| ([\d,]+) \|$", re.MULTILINE)
TORCH_FREE = re.compile(r"^(.*) never import torch", re.MULTILINE)
NAMES = re.compile(r"`([\w.]+)`")
VARIABLE = re.compile(r"\bREPLICSE_[A-Z_]+\b")
LONGEST_FILE, MOST_VERBS, MOST_VARIABLES = 350, 18, 2
# Who may use a feature; what people use for their own tables and encoders alone (docs/own-data.md, docs/own-rows.md).
USERS = (
    "workflow/papers/*/*.yaml",
    "workflow/papers/*/tables/*.yaml",
    "workflow/scales/*.yaml",
    "tests/papers/**/*.yaml",
)
OWN = {("format", "table"), ("pooling", "own")}
NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
)  # fmt: skip


def code_lines(text: str) -> int:
    """Return how many lines of a module hold code: no blank lines, comments, docstrings, imports."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        value = first.value if isinstance(first, ast.Expr) else None
        docstring = isinstance(value, ast.Constant) and isinstance(value.value, str)
        for each in [first] * docstring + [node] * isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(each.lineno, each.end_lineno + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - left_out)


def imports(text: str) -> set[str]:
    """Return the modules that a module imports anywhere, each by its dotted name."""
    nodes = list(ast.walk(ast.parse(text)))
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return named | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def of_rooms(root: Path) -> Iterator[str]:
    """Yield a line for each import that a room has beside those of the table, and for each room that is too large."""
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (root / PACKAGE).glob("*/__init__.py")}
    table = {
        room: (folders if "every room" in allowed else {room, *NAMES.findall(allowed)}, lines)
        for room, allowed, lines in LINE.findall(page)
    }
    without_torch = set(NAMES.findall(TORCH_FREE.search(page)[1]))
    for room in sorted(folders ^ table.keys()):
        yield f"docs/architecture.md: room {room} is in the table or in {PACKAGE}, not in both"
    for room, (allowed, lines) in table.items():
        texts = [file.read_text(encoding="utf-8") for file in sorted((root / PACKAGE / room).rglob("*.py"))]
        for module in sorted(set().union(*map(imports, texts))):
            package, _, below = module.partition(".")
            if package in ("torch", "transformers") and room in without_torch:
                yield f"{PACKAGE / room} imports {module}"
            other = below.partition(".")[0] if package == "replicse" else ""
            if other in folders - allowed and ".".join(below.split(".")[:2]) not in allowed:
                yield f"{PACKAGE / room} imports {module}; docs/architecture.md does not list it"
        count, most = sum(map(code_lines, texts)), int(lines.replace(",", ""))
        if count > most:
            yield f"{PACKAGE / room} has {count:,} lines of code, in docs/architecture.md at most {most:,}"


def of_files(root: Path) -> Iterator[str]:
    """Yield a line for each file that is too long, and for each name that two public classes have."""
    homes: dict[str, list[str]] = defaultdict(list)
    for file in sorted((root / "src").rglob("*.py")):
        text, place = file.read_text(encoding="utf-8"), file.relative_to(root)
        if text.count("\n") > LONGEST_FILE:
            yield f"{place} has {text.count(chr(10))} lines, at most {LONGEST_FILE}"
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(place))
    for name, places in homes.items():
        if len(places) > 1:
            yield f"class {name} is in {' and '.join(places)}"


def of_surface(root: Path) -> Iterator[str]:
    """Yield a line where there are too many verbs or environment variables."""
    from replicse.cli import VERBS

    if len(VERBS) > MOST_VERBS:
        yield f"there are {len(VERBS)} verbs, at most {MOST_VERBS}"
    files = [file for folder in ("src", "workflow") for file in (root / folder).rglob("*.*")]
    code = [file for file in [root / "Snakefile", *files] if file.suffix in (".py", ".smk", "")]
    found = sorted({name for file in code for name in VARIABLE.findall(file.read_text(encoding="utf-8"))})
    if len(found) > MOST_VARIABLES:
        yield f"there are {len(found)} environment variables, at most {MOST_VARIABLES}: {', '.join(found)}"


def of_features(root: Path) -> Iterator[str]:
    """Yield a line for each entry of the registry that no paper, scale or test paper uses."""
    from replicse.registry.plugins import use_plugins
    from replicse.registry.registry import current

    use_plugins([], root / "workflow")
    files = [file for pattern in USERS for file in sorted(root.glob(pattern))]
    used = "\n".join(file.read_text(encoding="utf-8") for file in files)
    named = [(base.key, name) for base, known in current().entries.items() for name in known]
    for key, name in named:
        if (key, name) not in OWN and not re.search(rf"\b{key}: *{re.escape(name)}(?![\w-])", used):
            yield f"{key} {name} is used by no paper, scale or test paper; use it there, or take it away"
    for name in current().suites:
        if not re.search(rf"(?<![\w-]){re.escape(name)}\b", used):
            yield f"suite {name} is used by no paper, scale or test paper; use it there, or take it away"


def found(root: Path = ROOT) -> list[str]:
    """Return a line for each way in which the package is not as the table and the limits have it."""
    return [*of_rooms(root), *of_files(root), *of_surface(root), *of_features(root)]


if __name__ == "__main__":
    problems = found()
    print("\n".join(problems))
    sys.exit(bool(problems))
