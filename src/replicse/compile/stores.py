"""The tokenised stores that runs read: a view of a corpus by a tokenizer, up to a length."""

from typing import Any

from replicse.compile.study import Study
from replicse.registry.digests import digest
from replicse.registry.run_options import View
from replicse.registry.runs import Run


class Stores:
    """Adds the stores of runs to a study; equal ones are one."""

    def __init__(self, plan: Study) -> None:
        self.plan = plan
        self._names: dict[tuple[str, View, str, int], str] = {}

    def of_run(self, run: Run) -> list[str]:
        """Return the stores of the views of a run's sources, in their order."""
        tokenizer, length = self.plan.tokenizer_file(run.init), run.optimisation.max_length
        return [
            self._store(source.corpus, view.text, tokenizer, length)
            for source in run.sources
            for view in source.views
        ]

    def _store(self, corpus: dict[str, Any], view: View, tokenizer: str, length: int) -> str:
        key = digest(corpus), view, tokenizer, length
        if key not in self._names:
            spec = {"corpus": corpus, "view": view.plain(), "tokenizer": tokenizer, "max_length": length}
            what = view.augment.name if view.augment else view.column
            self._names[key] = f"{corpus['name']}-{what}-{digest(spec)}"
            self.plan.stores[self._names[key]] = spec
        return self._names[key]
