"""README and documentation: links, pages, commands and citations."""

import re
import shlex
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest
import yaml
from places import CHECKOUT, ROOT

from replicse.cli import VERBS, verb_parser

NAMES = ("README.md", "CONTRIBUTING.md", "workflow/profiles/README.md", "config/README.md")
FILES = [
    *map(ROOT.joinpath, NAMES),
    *(ROOT / "docs").glob("*.md"),
    *ROOT.glob("reports/studies/**/README.md"),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# On GitHub the README is below /OWNER/NAME/blob/main, so this is the page or the badge of a workflow.
BADGE = re.compile(r"\.\./\.\./actions/(workflows/\w+\.yml)(/badge\.svg)?")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
METHODS = ROOT / "docs" / "methods.md"
ROOMS = ("benchmarks", "config", "docs", "examples", "src", "tests", "workflow")
# Citations such as "methods 2.1 and 2.2", "methods, section 1.7", "pitfalls 4, 6 and 10", even across lines.
NUMBER = r"\d+(?:\.\d+)?"
LIST = rf"(?:(?:,| and)[\s#]+{NUMBER})*"
SECTIONS = re.compile(rf"\bmethods,?[\s#]+(?:section[\s#]+)?({NUMBER}{LIST})", re.IGNORECASE)
PITFALLS = re.compile(rf"\bpitfalls?[\s#]+({NUMBER}{LIST})", re.IGNORECASE)
ISSUE = re.compile(r"\bissues?[\s#]+\d+", re.IGNORECASE)


def prose(text):
    """Return Markdown without code, because brackets in code are not links."""
    return re.sub(r"^(    [^\n]*|```.*?^```)$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """Return the anchors of a page's headings, as in GitHub and mkdocs."""
    found = set(re.findall(r'id="([^"]+)"', text))
    for heading in HEADING.findall(text):
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-"))
    return found


def dead_links(file):
    """Yield the broken local links of a page."""
    for link in LINK.findall(prose(file.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        if re.match(r"(https?|mailto):", link):
            continue
        if badge := BADGE.fullmatch(link):
            target, anchor = CHECKOUT / ".github" / badge[1], ""
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            yield link


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_local_link_is_dead(file):
    assert list(dead_links(file)) == []


def pages_of(entry):
    """Return a list of the pages in a navigation entry and its sections."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return list(chain.from_iterable(map(pages_of, parts)))


def reached(start):
    """Return the Markdown files that can be reached by links from a page."""
    pages, waiting = set(), [start]
    while waiting:
        file = waiting.pop()
        if file not in pages and file.suffix == ".md" and file.is_file():
            pages.add(file)
            for link in LINK.findall(prose(file.read_text(encoding="utf-8"))):
                waiting.append((file.parent / link.partition("#")[0]).resolve())
    return pages


def test_every_page_is_in_the_site_and_is_reached_from_the_readme():
    # The configuration contains a Python function for mkdocs. Only the navigation is loaded here.
    listed = pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    pages = sorted((ROOT / "docs").glob("*.md"))
    assert [page.name for page in pages if page.name not in listed] == []
    found = reached((ROOT / "README.md").resolve())
    assert [page.name for page in pages if page.name != "index.md" and page.resolve() not in found] == []


def test_the_readme_is_read_in_a_minute():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120 and len(text.split()) <= 1600


# Files that do not exist yet, because a page asks the reader to write them.
TO_WRITE = {"hinge.py", "anisotropy.py"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_file_of_the_checkout_that_a_page_names_exists(file):
    names = re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w./-]+)`", file.read_text(encoding="utf-8"))
    missing = {name for name in names if not (CHECKOUT / name).exists() and Path(name).name not in TO_WRITE}
    assert missing - {"benchmarks/rehearsal/"} == set()


def texts():
    """Yield path and content of every text file that people read.

    This includes code, workflow, tests and documentation.
    """
    files = list(ROOT.iterdir())
    for room in ROOMS:
        files += (ROOT / room).rglob("*")
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and file.suffix not in (".png", ".svg", ".pyc"):
            yield file.relative_to(ROOT), file.read_text(encoding="utf-8", errors="replace")


def unresolved(text, methods):
    """Return a list of cited sections and pitfalls that do not exist.

    Args:
        text: Text with citations.
        methods: Text of the methods page.
    """
    cited = {
        "methods": set(re.findall(NUMBER, " ".join(SECTIONS.findall(text)))),
        "pitfall": set(re.findall(NUMBER, " ".join(PITFALLS.findall(text)))),
    }
    there = {
        "methods": set(re.findall(rf"^(?:#+ |- \*\*)({NUMBER})\b", methods, re.MULTILINE)),
        "pitfall": set(re.findall(r"^(\d+)\. \*\*", methods, re.MULTILINE)),
    }
    missing = []
    for kind, numbers in cited.items():
        missing += [f"{kind} {number}" for number in sorted(numbers - there[kind])]
    return missing


def test_every_citation_of_a_method_or_a_pitfall_resolves():
    methods = METHODS.read_text(encoding="utf-8")
    found = {str(path): missing for path, text in texts() if (missing := unresolved(text, methods))}
    assert found == {}


# A verb anywhere in a text, up to the end of the line or of the quotation.
PRINTED = re.compile(r"(?<![\w./-])replicse (?!import\b|where\b|already\b)([a-z][a-z-]*)([^`\"'\n#|;()]*)")


def test_every_verb_and_option_that_is_printed_anywhere_exists():
    options = defaultdict(set)
    for path, text in texts():
        # These have removed verbs, and a misspelt verb.
        if path != Path("docs/changelog.md") and path.name != "verbs-nothing.txt":
            for verb, rest in PRINTED.findall(text.replace("\\\n", " ")):
                options[verb].update(re.findall(r" (--[a-z-]+)", rest.partition(" -- ")[0]))
    assert not options.pop("help", None), "it prints a page"
    assert options.keys() == VERBS.keys() | {"job"}
    for verb, printed in options.items():
        assert printed <= {"--help", *verb_parser(verb)._option_string_actions}, verb


def test_every_example_of_a_help_can_be_parsed():
    for verb in VERBS:
        parser = verb_parser(verb)
        for line in parser.epilog.replace("\\\n", "").splitlines()[1:]:
            parser.parse_intermixed_args(shlex.split(line)[2:])


def test_no_reason_is_the_number_of_an_issue():
    """Reasons should not refer to issue numbers.

    Readers cannot see a tracker of this project. Issues of the papers' repositories may be cited in their
    folders.
    """
    for path, text in texts():
        if path.parts[:2] != ("workflow", "papers"):
            assert ISSUE.findall(text) == [], path
