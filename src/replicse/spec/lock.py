"""The lock file `workflow/hub.lock.yaml`: commits of hub artefacts."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from replicse.checked import Checked, Text, read_yaml
from replicse.workspace import looked_up

LOCK = "hub.lock.yaml"


def _commit(commit: str) -> str:
    if not re.fullmatch("[0-9a-f]{7,40}", commit):
        raise ValueError("a commit of 7 to 40 hexadecimal digits, or null")
    return commit


class Pin(Checked):
    """The commit of an artefact, and the place that documents the commit.

    The commit is None if it is not known yet. An abbreviated commit cannot be downloaded: `replicse fetch --pin`
    completes it.
    """

    commit: Annotated[Text, AfterValidator(_commit)] | None
    seen: Text

    @property
    def complete(self) -> bool:
        """Return whether the full commit is known."""
        return self.commit is not None and len(self.commit) == 40


class Lock(Checked):
    """All pins by the id of their repository."""

    models: dict[str, Pin] = Field(default_factory=dict)
    datasets: dict[str, Pin] = Field(default_factory=dict)

    def revision(self, hub_id: str) -> str | None:
        """Return the commit of a model or a dataset.

        Args:
            hub_id: the id of the repository, such as "bert-base-uncased".

        Returns:
            The commit; None if the full commit is not known.
        """
        pin = self.models.get(hub_id) or self.datasets.get(hub_id)
        return pin.commit if pin and pin.complete else None

    def unpinned(self, hub_ids: Iterable[str]) -> list[str]:
        """Return the artefacts without a commit, in order, without duplicates.

        Args:
            hub_ids: the ids of repositories.
        """
        return [name for name in dict.fromkeys(hub_ids) if self.revision(name) is None]


def load_lock(workflow: Path) -> Lock:
    """Load the lock of a workflow; pins of the workspace override it.

    Args:
        workflow: the folder of papers and scales.

    Raises:
        BadInput: if a lock file is not valid.
    """
    locks = [Lock.of(read_yaml(path), str(path)) for path in looked_up(Path(workflow), LOCK)]
    models: dict[str, Pin] = {}
    datasets: dict[str, Pin] = {}
    for lock in locks:
        models.update(lock.models)
        datasets.update(lock.datasets)
    return Lock(models=models, datasets=datasets)
