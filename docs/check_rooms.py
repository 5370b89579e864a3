"""Check imports between rooms against docs/architecture.md; print sizes.

Part of make lint. A room may only import rooms or modules in its row of the table. Rooms that are listed as
free of torch must not import torch. Public classes must have unique names, a file can have at most 400 lines,
and there can be at most two environment variables. An unused entry of the registry is only a warning.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src", "replicse")
LINE = re.compile(r"^\| `(\w+)` \| [^|]* \|([^|]*)\|$", re.MULTILINE)
TORCH_FREE = re.compile(r"^(.*) never import torch", re.MULTILINE)
NAMES = re.compile(r"`([\w.]+)`")
VARIABLE = re.compile(r"\bREPLICSE_[A-Z_]+\b")
LONGEST_FILE, MOST_VARIABLES = 400, 2
# Files in which features are used. `OWN` lists features that are only needed for users' tables and encoders
# (docs/own-data.md, docs/own-rows.md).
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
    """Count the lines of a module that contain code.

    Empty lines, comments, docstrings and imports are not counted.
    """
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
    """Return the dotted names of all modules that a module imports."""
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return modules


def of_rooms(root: Path) -> Iterator[str]:
    """Yield a problem for each import that the table does not list."""
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = _rooms(root)
    table = {}
    for room, allowed in LINE.findall(page):
        table[room] = folders if "every room" in allowed else {room, *NAMES.findall(allowed)}
    without_torch = set(NAMES.findall(TORCH_FREE.search(page)[1]))
    for room in sorted(folders ^ table.keys()):
        yield f"docs/architecture.md: room {room} is in the table or in {PACKAGE}, not in both"
    for room, allowed in table.items():
        for module in sorted(set().union(*map(imports, _texts(root, room)))):
            package, _, below = module.partition(".")
            if package in ("torch", "transformers") and room in without_torch:
                yield f"{PACKAGE / room} imports {module}"
            other = below.partition(".")[0] if package == "replicse" else ""
            if other in folders - allowed and not _is_listed(below, allowed):
                yield f"{PACKAGE / room} imports {module}; docs/architecture.md does not list it"


def _is_listed(module: str, allowed: set[str]) -> bool:
    """Return whether the table lists a module, or a package that contains it."""
    while "." in module:
        if module in allowed:
            return True
        module = module.rpartition(".")[0]
    return False


def sizes(root: Path = ROOT) -> dict[str, int]:
    """Count the lines of code of each room.

    Args:
        root: Root of the repository. Default: this repository.

    Returns:
        Dict from a room to the number of lines, largest first, then "at the top" for modules outside rooms.
    """
    counts = {room: sum(map(code_lines, _texts(root, room))) for room in _rooms(root)}
    top = _read_files((root / PACKAGE).glob("*.py"))
    largest_first = sorted(counts.items(), key=lambda each: -each[1])
    return {**dict(largest_first), "at the top": sum(map(code_lines, top))}


def _rooms(root: Path) -> set[str]:
    return {path.parent.name for path in (root / PACKAGE).glob("*/__init__.py")}


def _texts(root: Path, room: str) -> list[str]:
    return _read_files(sorted((root / PACKAGE / room).rglob("*.py")))


def _read_files(files: Iterable[Path]) -> list[str]:
    """Return the texts of files as a list of strings."""
    return [file.read_text(encoding="utf-8") for file in files]


def of_files(root: Path) -> Iterator[str]:
    """Yield a problem for each long file and each duplicate class name."""
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


def of_variables(root: Path) -> Iterator[str]:
    """Yield a problem if there are too many environment variables."""
    found: set[str] = set()
    for file in (root / "Snakefile", *(root / "src").rglob("*.*"), *(root / "workflow").rglob("*.*")):
        if file.suffix in (".py", ".smk", ""):
            found.update(VARIABLE.findall(file.read_text(encoding="utf-8")))
    if len(found) > MOST_VARIABLES:
        names = ", ".join(sorted(found))
        yield f"there are {len(found)} environment variables, at most {MOST_VARIABLES}: {names}"


def unused_entries(root: Path = ROOT) -> Iterator[str]:
    """Yield a warning for each unused entry of the registry.

    An entry is used if it is in a paper, a scale or a test paper.

    Args:
        root: Root of the repository. Default: this repository.
    """
    from replicse.registry.plugins import use_plugins
    from replicse.registry.registry import current

    use_plugins([], root / "workflow")
    used = ""
    for pattern in USERS:
        used += "\n".join(["", *_read_files(sorted(root.glob(pattern)))])
    for base, names in current().entries.items():
        for name in names:
            use = rf"\b{base.key}: *{re.escape(name)}(?![\w-])"
            if (base.key, name) not in OWN and not re.search(use, used):
                yield f"{base.key} {name} is used by no paper, scale or test paper"
    for name in current().suites:
        if not re.search(rf"(?<![\w-]){re.escape(name)}\b", used):
            yield f"suite {name} is used by no paper, scale or test paper"


def found(root: Path = ROOT) -> list[str]:
    """Return a list of all problems, except warnings.

    Args:
        root: Root of the repository. Default: this repository.
    """
    return [*of_rooms(root), *of_files(root), *of_variables(root)]


if __name__ == "__main__":
    print("lines of code:", ", ".join(f"{room} {count:,}" for room, count in sizes().items()))
    for warning in unused_entries():
        print(f"warning: {warning}")
    problems = found()
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))
