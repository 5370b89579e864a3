"""Hooks of mkdocs: what the site takes from outside docs/, and the reference pages that are generated.

Every page links as it does in the repository (`../reports/studies/compact/README.md`), so that links also
work where the repository is read; `on_page_markdown` turns such a link into one of the site. A page of
PAGES is a Markdown file elsewhere, a file of ASSETS is copied.
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
# A study that was kept here has no README.md before somebody writes it.
STUDIES = sorted(file.parent.name for file in ROOT.glob("reports/studies/*/README.md"))
# Place in the repository: place in the site.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "config/README.md": "config.md",
    "workflow/profiles/README.md": "profiles.md",
    **{f"reports/studies/{name}/README.md": f"studies/{name}.md" for name in STUDIES},
    **{f"reports/studies/{name}/report.md": f"reports/studies/{name}/report.html" for name in STUDIES},
}
ASSETS = ("figures/studies/**/*.png", "benchmarks/results/**/*.png", "reports/studies/**/*")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]+)?\)")
NUMBERED = re.compile(r"(\]\([^):\s]*#)(\d)")  # a link to a heading that begins with a digit


def assets() -> Iterator[str]:
    """Yield the files that are copied as they are, by their place in the repository; Markdown would become pages."""
    for pattern in ASSETS:
        for file in sorted(ROOT.glob(pattern)):
            if file.is_file() and file.suffix != ".md":
                yield file.relative_to(ROOT).as_posix()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the files from outside docs/."""
    for place, name in PAGES.items():
        if name.endswith(".md"):
            files.append(File.generated(config, name, content=(ROOT / place).read_text(encoding="utf-8")))
    for place in assets():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let the id of a heading begin with a letter: the theme's scripts stop at others."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = identifier
    return config


def identifier(heading: str, separator: str) -> str:
    """Return the id of a heading: that of GitHub, after an s where it begins with a digit."""
    name = slugify(heading, separator)
    return f"s{name}" if name[:1].isdigit() else name


def on_page_content(html: str, **_: Any) -> str:
    """Let blocks of code and tables scroll sideways on a narrow screen, and be reached by keyboard."""
    html = html.replace("<pre", '<pre tabindex="0"').replace("</table>", "</table></div>")
    return html.replace("<table", '<div class="wide" tabindex="0"><table')


def on_post_page(output: str, **_: Any) -> str:
    """Give the theme's switch of light and dark the style sheets of highlight.js, without which it stops."""
    return output.replace("</head>", '<style id="hljs-light"></style><style id="hljs-dark"></style></head>')


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the Markdown that report pages link to."""
    for file in ROOT.glob("reports/studies/**/*.md"):
        target = Path(config.site_dir) / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with its generated parts, and with links that lead to the site."""
    here = page.file.src_uri
    origin = next((place for place, name in PAGES.items() if name == here), f"docs/{here}")
    text = MARK.sub(lambda mark: GENERATED[mark[1]](), markdown)
    text = NUMBERED.sub(r"\1s\2", text)
    return LINK.sub(lambda link: in_site(link, origin, here), text)


def in_site(link: re.Match[str], origin: str, here: str) -> str:
    """Return a link of a file of the repository as a link of the site; text alone where it leads to code."""
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
