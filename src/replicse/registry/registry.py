"""The registry of all names for a paper's files.

Entries are collected from modules; a process uses one registry at a time.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from replicse.errors import BadInput
from replicse.registry.entries import Entry

if TYPE_CHECKING:
    from replicse.registry.plugins import Plugin
    from replicse.registry.suites import Suite


@dataclass(frozen=True)
class Registry:
    """Entries by base and name, suites and families by name; immutable.

    Args:
        entries: A dict from bases to dicts from names to entries. Default: empty.
        suites: A dict from names to suites. Default: empty.
        families: A dict from names to the code of families. Default: empty.
        homes: A dict from (table, name) to the plug-in's module of each suite or family; "" for this package.
        plugins: A dict from modules to the plug-ins that added entries. Default: empty.
    """

    entries: Mapping[type[Entry], Mapping[str, type[Entry]]] = field(default_factory=dict)
    suites: "Mapping[str, Suite]" = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    homes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    plugins: "Mapping[str, Plugin]" = field(default_factory=dict)
    in_use: ClassVar["Registry | None"] = None

    @classmethod
    @cache
    def of_package(cls) -> Self:
        """Return the registry of this package, without plug-ins."""
        from replicse.registry import (
            augmentations,
            corpora,
            encoders,
            poolings,
            procedures,
            suites,
            tables,
            terms,
        )

        modules = (augmentations, corpora, encoders, poolings, procedures, suites, tables, terms)
        return cls().joined("", modules, suites.SUITES, encoders.FAMILIES)

    def joined(
        self, home: str, modules: Iterable[ModuleType], suites: Mapping[str, Any], families: Mapping[str, str]
    ) -> Self:
        """Create a registry that also contains the names in modules.

        Args:
            home: The module of the plug-in; "" for this package.
            modules: The modules that define entries.
            suites: A dict from names to suites.
            families: A dict from names to the code of families.

        Raises:
            BadInput: If the name of an entry already exists.
        """
        entries = {base: dict(known) for base, known in self.entries.items()}
        for entry in _entries_in(modules):
            other = entries.setdefault(entry.base(), {}).setdefault(entry.entry_name(), entry)
            if other is not entry:
                raise BadInput(
                    f"{inspect.getsourcefile(entry)}:{inspect.getsourcelines(entry)[1]}: {entry.__qualname__}: the"
                    f' {entry.key} "{entry.entry_name()}" already exists ({other.__qualname__}); choose another name'
                )
        homes = dict.fromkeys((("SUITES", name) for name in suites), home)
        homes |= dict.fromkeys((("FAMILIES", name) for name in families), home)
        return type(self)(
            MappingProxyType({base: MappingProxyType(known) for base, known in entries.items()}),
            MappingProxyType({**self.suites, **suites}),
            MappingProxyType({**self.families, **families}),
            MappingProxyType({**self.homes, **homes}),
        )

    def entries_below(self, module: str) -> Iterator[type[Entry]]:
        """Yield the entries that a module or package defines.

        Args:
            module: The dotted name.
        """
        for known in self.entries.values():
            for entry in known.values():
                if f"{entry.__module__}.".startswith(f"{module}."):
                    yield entry


def current() -> Registry:
    """Return the registry of this process; the default has no plug-ins."""
    return Registry.in_use or Registry.of_package()


def _entries_in(modules: Iterable[ModuleType]) -> Iterator[type[Entry]]:
    """Yield the entries of modules."""
    for module in modules:
        for value in tuple(vars(module).values()):
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and issubclass(value, Entry) and value.entry_name():
                yield value
