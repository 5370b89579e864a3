"""Add workflow, documentation and numbers of committed studies to a wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BESIDE = ("Snakefile", "environment.yml", "workflow", "reports/studies")
DOCS = "docs/*.md"  # the pages that `replicse help` prints
PAGES = (".html", ".pdf", ".tex", ".md")


class Beside(BuildHookInterface):
    """A build hook that puts files next to the package into the package.

    The files are next to the package in a checkout; see `replicse.workspace.packaged`.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name each file and its target.

        An editable installation uses the files of the checkout.
        """
        if version == "editable":
            return
        root = Path(self.root)
        for place in map(root.joinpath, BESIDE):
            files = [place] if place.is_file() else sorted(filter(Path.is_file, place.rglob("*")))
            for file in files:
                if file.suffix != ".pyc" and (place.name != "studies" or file.suffix not in PAGES):
                    build_data["force_include"][str(file)] = f"replicse/{file.relative_to(root).as_posix()}"
        for file in sorted(root.glob(DOCS)):
            build_data["force_include"][str(file)] = f"replicse/{file.relative_to(root).as_posix()}"
