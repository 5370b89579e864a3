"""Compare our English with the English of the field; part of make lint.

Prints how often words occur in our texts, relative to six code bases of the field, and checks the docstrings
and names of the public interface. `ENFORCED` lists the checks that can fail; other checks only print a count.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Occurrences per 1,000 words in 254,814 words of docstrings and comments of rliable
# (google-research/rliable), pykeen (pykeen/pykeen), lm-evaluation-harness (EleutherAI/lm-evaluation-harness),
# mteb (embeddings-benchmark/mteb), sentence-transformers (huggingface/sentence-transformers) and
# simple-simcse (hppRC/simple-simcse), November 2026.
FIELD_RATES = {
    "where": 1.15,
    "what": 0.36,
    "its": 0.84,
    "that": 4.25,
    "one": 1.86,
    "those": 0.26,
    "nothing none no": 5.38,
    "says say said tell tells told": 0.1,
    "made drawn holds held": 0.1,
    "asked asks": 0.1,
    "if": 7.63,
    "use used using uses": 8.35,
    "dataset datasets": 5.79,
    "default defaults": 6.37,
    "should can might": 4.47,
    "create build compute": 2.66,
    "list dict string": 7.0,
    "get load parse": 2.85,
    "because since": 0.83,
}
LOWEST_RATIO, HIGHEST_RATIO = 0.4, 2.5
# docs/style.md asks for other words, so these may be rare.
AVOIDED = ("where", "what", "those", "says say said tell tells told", "made drawn holds held", "asked asks")
LONGEST_FIRST_LINE = 72
# Checks that make this script fail: kinds of text as in `read_texts`, "first lines", "names" or "arguments".
ENFORCED = ("docstrings", "tests", "messages", "pages", "first lines", "names", "arguments")

CODE = ("src/**/*.py", "workflow/papers/**/*.py")
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "config/README.md",
    "workflow/profiles/README.md",
    "src/replicse/skeletons/**/*.md",
)
# Embedded sentences and word lists are data.
DATA = ("src/replicse/world/", "src/replicse/augment/synonyms.py")
# Words in -ed and -ing that are used as nouns in the field.
NOUNS = {"embedding", "encoding", "padding", "pooling", "seed", "setting", "string", "training", "warning"}
CODE_BLOCK = re.compile(r"^```.*?^```|^(?: {4}|\t)[^\n]*", re.MULTILINE | re.DOTALL)
NOT_PROSE = re.compile(r"<!--.*?-->|`[^`]*`|https?://\S+|<[^>\n]+>", re.DOTALL)
INTERFACE_NAME = re.compile(r"`replicse\.([a-z_.]+\.[A-Z]\w+)`")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Problem(NamedTuple):
    """A problem found by a check."""

    check: str
    message: str


# Texts


def read_texts(root: Path) -> dict[str, str]:
    """Return the prose of each kind of text as a dict of strings.

    Docstrings are counted with the text under Args, Returns and Raises, as in the rates of the field. In pages
    and messages, an indented line is code.
    """
    code, tests = find_files(root, CODE), find_files(root, ("tests/**/*.py",))
    strings = []
    for file in code:
        if not file.relative_to(root).as_posix().startswith(DATA):
            strings += messages(parse(file))
    pages = [file.read_text(encoding="utf-8") for file in find_files(root, PAGES)]
    return {
        "docstrings": remove_code("\n\n".join(map(docstrings_and_comments, code))),
        "tests": remove_code("\n\n".join(map(docstrings_and_comments, tests))),
        "messages": remove_code(remove_code_blocks("\n\n".join(strings))),
        "pages": remove_code(remove_code_blocks("\n\n".join(pages))),
    }


def find_files(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Return the files of all patterns, sorted by pattern and name."""
    files: list[Path] = []
    for pattern in patterns:
        files += sorted(root.glob(pattern))
    return files


def parse(file: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(file.read_text(encoding="utf-8"))


def remove_code_blocks(text: str) -> str:
    """Return a Markdown text without fenced and indented code blocks."""
    return CODE_BLOCK.sub(" ", text)


def remove_code(text: str) -> str:
    """Return a text without inline code, HTML comments, tags and URLs."""
    return NOT_PROSE.sub(" ", text)


def docstrings_and_comments(file: Path) -> str:
    """Return the docstrings and comments of a module."""
    parts = [docstring for _, docstring in docstrings(parse(file))]
    source = file.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            parts.append(token.string.lstrip("# "))
    return "\n".join(parts)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the first line number and the text of each docstring of a module."""
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def messages(tree: ast.Module) -> list[str]:
    """Return a list of strings of at least two words, such as error messages.

    Docstrings are skipped. An ellipsis replaces each expression in an f-string.
    """
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node) is not None:
            skipped.add(id(node.body[0].value))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
    found = []
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = join_constants(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = node.value
        if " " in text.strip():
            found.append(text)
    return found


def join_constants(node: ast.JoinedStr) -> str:
    """Join the parts of an f-string, with an ellipsis for each expression."""
    text = ""
    for part in node.values:
        text += str(part.value) if isinstance(part, ast.Constant) else "…"
    return text


# Rates of words


def compute_ratios(text: str) -> dict[str, float]:
    """Return the rate of each word group divided by the rate in the field."""
    words = Counter(re.findall(r"[a-z]+", text.lower()))
    total = max(words.total(), 1)
    ratios = {}
    for group, rate in FIELD_RATES.items():
        count = sum(words[word] for word in group.split())
        ratios[group] = 1000 * count / total / rate
    return ratios


def format_table(ratios: dict[str, dict[str, float]]) -> str:
    """Format the ratios as a table.

    Args:
        ratios: Dict from a kind of text (column) to a dict from a word group (row) to a ratio.
    """
    header = f"{'ratio to the field':34}"
    for kind in ratios:
        header += f"{kind:>13}"
    lines = [header]
    for group in FIELD_RATES:
        cells = ""
        for kind in ratios:
            ratio = ratios[kind][group]
            cells += f"{ratio:11.2f}{'  ' if is_within_limits(group, ratio) else ' <'}"
        lines.append(f"{group:34}{cells}".rstrip())
    return "\n".join(lines)


def is_within_limits(group: str, ratio: float) -> bool:
    """Return whether the ratio of a word group is neither too low nor too high."""
    return ratio <= HIGHEST_RATIO and (group in AVOIDED or ratio >= LOWEST_RATIO)


def check_rates(ratios: dict[str, dict[str, float]]) -> Iterator[Problem]:
    """Yield a problem for each ratio that is out of range."""
    for kind, by_group in ratios.items():
        for group, ratio in by_group.items():
            if not is_within_limits(group, ratio):
                limits = f"{LOWEST_RATIO} to {HIGHEST_RATIO}"
                yield Problem(
                    kind, f'{kind}: "{group}" at {ratio:.2f} times the rate of the field, not {limits}'
                )


# Docstrings and names


def check_first_lines(root: Path) -> Iterator[Problem]:
    """Yield a problem for each docstring whose first line is too long."""
    for file in find_files(root, CODE):
        for line, text in docstrings(parse(file)):
            length = len(text.splitlines()[0])
            if length > LONGEST_FIRST_LINE:
                location = f"{file.relative_to(root)}:{line}"
                message = f"{location}: the first line has {length} characters, not {LONGEST_FIRST_LINE}"
                yield Problem("first lines", message)


def check_interface(root: Path) -> Iterator[Problem]:
    """Yield a problem for each public function with bad name or missing Args.

    A name is bad if it is only a participle.
    """
    for location, node in find_interface(root):
        if re.fullmatch(r"[a-z]+(ed|ing)", node.name) and node.name not in NOUNS:
            yield Problem("names", f"{location}: {node.name} is neither a verb with an object nor a noun")
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        described = {
            "self",
            "cls",
            *re.findall(r"^\s*(\w+)(?: \(.*\))?:", ast.get_docstring(node) or "", re.MULTILINE),
        }
        missing = [name for name in parameters if name not in described]
        if missing:
            yield Problem("arguments", f"{location}: {node.name} does not describe {', '.join(missing)}")


def find_interface(root: Path) -> Iterator[tuple[str, Function]]:
    """Yield the location and syntax tree of each public function.

    These are functions and methods in docs/api.md and of the plug-in interfaces: the values of `_HOMES` in
    the package, `GIVEN` in cli/manual.py, and classes named in docs/add-a-term.md.
    """
    package = root / "src/replicse"
    homes = read_constant(package / "__init__.py", "_HOMES")
    names = [home.replace(":", ".") for home in homes.values()]
    names += read_constant(package / "cli/manual.py", "GIVEN")
    names += INTERFACE_NAME.findall((root / "docs/add-a-term.md").read_text(encoding="utf-8"))
    for name in dict.fromkeys(names):
        module, _, attribute = name.rpartition(".")
        file = package / f"{module.replace('.', '/')}.py"
        if not file.is_file():
            file = package / module.replace(".", "/") / "__init__.py"
        for node in parse(file).body:
            if isinstance(node, ast.ClassDef | Function) and node.name == attribute:
                for function in public_functions(node):
                    yield f"{file.relative_to(root)}:{function.lineno}", function


def read_constant(file: Path, name: str) -> dict[str, str] | tuple[str, ...]:
    """Load the literal value of a module's constant without importing it."""
    for node in parse(file).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.literal_eval(node.value)
    raise SystemExit(f"{file}: has no constant {name}")


def public_functions(node: ast.ClassDef | Function) -> list[Function]:
    """Return a function, or the public methods of a class."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node]
    return [each for each in node.body if isinstance(each, Function) and not each.name.startswith("_")]


# The report


def main(root: Path = ROOT) -> int:
    """Print the table and the number of problems.

    The problems of enforced checks are listed.

    Args:
        root: Root of the repository. Default: this repository.

    Returns:
        The exit code: 1 if an enforced check failed, else 0.
    """
    ratios = {kind: compute_ratios(text) for kind, text in read_texts(root).items()}
    print(format_table(ratios))
    problems = [*check_rates(ratios), *check_first_lines(root), *check_interface(root)]
    counts = dict.fromkeys([*ratios, "first lines", "names", "arguments"], 0)
    failures = []
    for problem in problems:
        counts[problem.check] += 1
        if problem.check in ENFORCED:
            failures.append(problem.message)
    print("problems: " + ", ".join(f"{check} {count}" for check, count in counts.items()))
    for message in failures:
        print(message)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
