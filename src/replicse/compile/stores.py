"""The tokenised stores of runs.

A store is a view of a corpus, with a tokenizer and a maximum length.
"""

from typing import Any

from replicse.compile.study import Study
from replicse.registry.digests import digest
from replicse.registry.run_options import View
from replicse.registry.runs import Run


class Stores:
    """A builder that creates the stores of runs; equal stores are shared.

    Args:
        study: the study to fill.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._names: dict[tuple[str, View, str, int], str] = {}

    def of_run(self, run: Run) -> list[str]:
        """Create the stores of the views of a run.

        Args:
            run: the run.

        Returns:
            A list of names, in the order of the views.
        """
        tokenizer, length = self.study.tokenizer_file(run.init), run.optimisation.max_length
        names = []
        for source in run.sources:
            for view in source.views:
                names.append(self._add_store(source.corpus, view.text, tokenizer, length))
        return names

    def _add_store(self, corpus: dict[str, Any], view: View, tokenizer: str, length: int) -> str:
        key = digest(corpus), view, tokenizer, length
        if key not in self._names:
            spec = {"corpus": corpus, "view": view.plain(), "tokenizer": tokenizer, "max_length": length}
            text = view.augment.name if view.augment else view.column
            self._names[key] = f"{corpus['name']}-{text}-{digest(spec)}"
            self.study.stores[self._names[key]] = spec
        return self._names[key]
