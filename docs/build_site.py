"""Hooks of mkdocs: add pages and files outside docs/, and generate parts.

Pages use links that are valid in the repository (`../reports/studies/compact/README.md`), so that they can
also be read there; `on_page_markdown` converts them to links of the site. PAGES are Markdown files outside
docs/; ASSETS are copied.
"""

import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_origin

from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from replicse import checked
from replicse.cli.manual import MARK, commands, formats, public_names

ROOT = Path(__file__).resolve().parents[1]
# A kept study only has a README.md if somebody wrote it.
README_FILES = sorted(ROOT.glob("reports/studies/*/README.md"))
# Dict from the path in the repository to the path in the site.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "config/README.md": "config.md",
    "workflow/profiles/README.md": "profiles.md",
}
for file in README_FILES:
    study = f"reports/studies/{file.parent.name}"
    PAGES[f"{study}/README.md"] = f"studies/{file.parent.name}.md"
    PAGES[f"{study}/report.md"] = f"{study}/report.html"
# Dict from the path in the site to the path in the repository.
SOURCES = dict(zip(PAGES.values(), PAGES.keys(), strict=True))
ASSETS = ("figures/studies/**/*.png", "benchmarks/results/**/*.png", "reports/studies/**/*")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]+)?\)")
NUMBERED = re.compile(r"(\]\([^):\s]*#)(\d)")  # a link to a heading whose first character is a digit


def assets() -> Iterator[str]:
    """Yield the paths of files that are copied unchanged.

    Markdown files are skipped, because they would become pages.
    """
    for pattern in ASSETS:
        for file in sorted(ROOT.glob(pattern)):
            if file.is_file() and file.suffix != ".md":
                yield file.relative_to(ROOT).as_posix()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files from outside docs/."""
    for place, name in PAGES.items():
        if name.endswith(".md"):
            files.append(File.generated(config, name, content=(ROOT / place).read_text(encoding="utf-8")))
    for place in assets():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Use heading ids that begin with a letter.

    The scripts of the theme stop if an id begins with a digit.
    """
    config.mdx_configs.setdefault("toc", {})["slugify"] = identifier
    return config


def identifier(heading: str, separator: str) -> str:
    """Return the id of a heading as in GitHub; add an s before a digit.

    Args:
        heading: Text of the heading.
        separator: String between words.
    """
    name = slugify(heading, separator)
    return f"s{name}" if name[:1].isdigit() else name


def on_page_content(html: str, **_: Any) -> str:
    """Make code blocks and tables scrollable on a narrow screen.

    They can also be focused with the keyboard.
    """
    html = html.replace("<pre", '<pre tabindex="0"').replace("</table>", "</table></div>")
    return html.replace("<table", '<div class="wide" tabindex="0"><table')


def on_post_page(output: str, **_: Any) -> str:
    """Add the style sheets of highlight.js to a page.

    The theme's switch between light and dark stops if they are missing.
    """
    return output.replace("</head>", '<style id="hljs-light"></style><style id="hljs-dark"></style></head>')


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the Markdown files that are linked in report pages."""
    for file in ROOT.glob("reports/studies/**/*.md"):
        target = Path(config.site_dir) / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with generated parts, and with links of the site.

    Args:
        markdown: Text of the page.
        page: The page, whose path is used for relative links.
        config: Configuration of mkdocs, not used.
        files: Files of the site, not used.
    """
    here = page.file.src_uri
    origin = SOURCES.get(here, f"docs/{here}")
    text = MARK.sub(lambda mark: GENERATED[mark[1]](), markdown)
    text = NUMBERED.sub(r"\1s\2", text)
    return LINK.sub(lambda link: in_site(link, origin, here), text)


def in_site(link: re.Match[str], origin: str, here: str) -> str:
    """Convert a link of the repository to a link of the site.

    Args:
        link: Match of `LINK`.
        origin: Path of the page in the repository.
        here: Path of the page in the site.

    Returns:
        The new link, the unchanged link if it is external or broken, or the text of the link if the target is
            not in the site.
    """
    mark, text, path, anchor = link.groups(default="")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    if re.match(r"[a-z]+:", path) or not (ROOT / target).exists():
        return link[0]
    place = PAGES.get(target, target.removeprefix("docs/"))
    published = target in PAGES or target.startswith("docs/") or target in assets()
    return (
        f"{mark}[{text}]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{anchor})"
        if published
        else text
    )


def interface() -> str:
    """Return a directive of mkdocstrings for each name on the API page."""
    numbers = [name for name, value in vars(checked).items() if get_origin(value) is Annotated]
    options = f"    options: {{members: [{', '.join(numbers)}], show_if_no_docstring: true}}"
    parts = [f"::: replicse.{name}" for name in public_names()]
    return "\n\n".join([*parts, f"::: replicse.checked\n{options}"])


GENERATED = {"commands": commands, "interface": interface, "formats": formats}
