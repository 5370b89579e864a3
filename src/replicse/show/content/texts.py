"""Load the introductions of pages from the template `pages.md.j2`."""

from functools import cache
from typing import Any

from replicse.show.formats import templates


def paragraphs(page: str, *facts: object) -> tuple[str, ...]:
    """Load the introduction of a page.

    Args:
        page: The name of a macro in the template `pages.md.j2`.
        facts: The arguments of the macro.

    Returns:
        The paragraphs in Markdown.
    """
    text = str(getattr(_texts(), page)(*facts))
    return tuple(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


@cache
def _texts() -> Any:
    return templates().get_template("pages.md.j2").module
