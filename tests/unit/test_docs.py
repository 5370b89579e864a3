"""The README and the documentation: no dead link, and every page is in the site."""

import re

import pytest
import yaml
from places import ROOT

FILES = [
    *(ROOT / name for name in ("README.md", "workflow/profiles/README.md")),
    *(ROOT / "docs").glob("*.md"),
    *ROOT.glob("reports/studies/*/README.md"),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(text):
    """Return Markdown without what is shown as code, where brackets are no links."""
    return re.sub(r"^(    .*|```.*?^```)$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """Return the link targets that a page's headings make, as GitHub and mkdocs name them."""
    slugs = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {slug.strip().replace(" ", "-") for slug in slugs} | set(re.findall(r'id="([^"]+)"', text))


def dead_links(file):
    """Yield each local link of a page that leads nowhere."""
    for link in LINK.findall(prose(file.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        if re.match(r"(https?|mailto):", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            yield link


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_local_link_is_dead(file):
    assert list(dead_links(file)) == []


def test_a_dead_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](page.md#one-two) [b](gone.md) [c](#three) [d](https://x.y) `[e](f)`\n")
    assert list(dead_links(page)) == ["gone.md", "#three"]


def test_every_page_is_in_the_site_and_is_reached_from_the_readme():
    listed = [
        name for entry in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"] for name in entry.values()
    ]
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in listed if name != "index.md" and f"(docs/{name})" not in readme] == []
