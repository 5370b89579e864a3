"""The lock file `workflow/hub.lock.yaml`: the commit of every hub artefact that a scale or the data source names."""

import re
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from replicse.checked import Checked, Text, read_yaml
from replicse.workspace import looked_up

LOCK = "hub.lock.yaml"
KINDS = (attrgetter("models"), attrgetter("datasets"))


def _commit(commit: str) -> str:
    if not re.fullmatch("[0-9a-f]{7,40}", commit):
        raise ValueError("a commit of 40 hexadecimal digits, its first 7 or more, or null")
    return commit


class Pin(Checked):
    """The commit of an artefact, None where it is not known yet, and where that commit is documented.

    An abbreviated commit is not downloaded from: `replicse fetch --pin` completes it.
    """

    commit: Annotated[Text, AfterValidator(_commit)] | None
    seen: Text

    @property
    def complete(self) -> bool:
        """Return whether the commit is known in full."""
        return self.commit is not None and len(self.commit) == 40


class Lock(Checked):
    """All pins, by the name that the hub has for the repository."""

    models: dict[str, Pin] = Field(default_factory=dict)
    datasets: dict[str, Pin] = Field(default_factory=dict)

    def revision(self, hub_id: str) -> str | None:
        """Return the commit of a model or a data set, or None where it is not pinned in full."""
        pin = self.models.get(hub_id) or self.datasets.get(hub_id)
        return pin.commit if pin and pin.complete else None

    def unpinned(self, hub_ids: Iterable[str]) -> list[str]:
        """Return which of these artefacts have no commit, each once, in their order."""
        return [name for name in dict.fromkeys(hub_ids) if self.revision(name) is None]


def load_lock(workflow: Path) -> Lock:
    """Return the lock of a workflow folder with the workspace's own pins over it; BadInput names a mistake in it."""
    locks = [Lock.of(read_yaml(path), str(path)) for path in looked_up(Path(workflow), LOCK)]
    pins = [{key: pin for lock in locks for key, pin in each(lock).items()} for each in KINDS]
    return Lock(models=pins[0], datasets=pins[1])
