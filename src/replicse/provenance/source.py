"""Digests of the code and the data that a job's numbers come from: a change of them makes the job run again."""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import read_json, sha256_of, write_json

PACKAGE = Path(__file__).resolve().parents[1]
OWN = Path(__file__).read_bytes()  # what a cache keeps is as this file made it
# What checks, reports and records: no number comes from it.
WITHOUT_NUMBERS = {
    "replicse", "replicse.checked", "replicse.errors", "replicse.provenance", "replicse.provenance.record",
    "replicse.runtime", "replicse.runtime.forking", "replicse.runtime.locks", "replicse.runtime.progress",
}  # fmt: skip
# In the registry a job depends on the definitions that it names alone: of these tables on the entries that it takes.
REGISTRY = "replicse.registry."
TABLES = {"Augmentation", "Corpus", "Head", "Pooling", "Postprocessing", "SUITES", "TaskHead", "Term"}
NAMED = re.compile(r"replicse(\.\w+)+(:\w+)?")
# Digest and imports (`module:name`) of each part of a module.
Nodes = dict[str, tuple[str, list[str]]]


def package_sha256() -> str:
    """Return the sha256 over the package's own files, names and data such as `world/words.yaml` included."""
    digest = hashlib.sha256()
    for path in _files(PACKAGE):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def named_in(value: object) -> set[str]:
    """Return `module:class` of all that checked data consist of: of a run its terms, augmentations, head, ..."""
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        return {kind}.union(*(named_in(getattr(value, name)) for name in fields))
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return set().union(*map(named_in, value)) if isinstance(value, tuple | list) else set()


class SourceCode:
    """The code of the package as a graph of imports, whether at the top of a module or in a function.

    In the registry each definition is a node by itself, with those that it names, so that a new entry changes nothing
    else. A text that names a module, as `implementation` does, counts as an import of it. Modules are read once;
    `cache`, a JSON file, keeps what unchanged ones gave: to parse all takes 0.7 s, half as long as to plan a study.
    `plugins` holds file or folder of further modules and packages; of a paper's folder its modules alone are code.
    """

    def __init__(
        self, root: Path = PACKAGE, cache: Path | None = None, plugins: Mapping[str, Path] | None = None
    ) -> None:
        self.root, self.cache, self.plugins = root, cache, plugins or {}
        self._known = _forms(cache)
        self._modules: dict[str, Nodes] = {}
        # Looked up in the folders again for each of a plan's digests, imports would take 0.07 s of each.
        self._imported = functools.cache(self._node)

    def digest(self, *names: str) -> str:
        """Return the sha256 over the code of each `module` or `module:definition` and over all that they import.

        A package stands for all its modules. The data files of the packages that are reached are part of it. Comments,
        docstrings and formatting do not change it; any other change does.
        Raises ModuleNotFoundError for a module that the package does not have.
        """
        before = len(self._known)
        codes: dict[tuple[str, str], str] = {}
        pending = [node for name in names for node in self._named(name)]
        while pending:
            module, part = pending.pop()
            if (module, part) in codes or module in WITHOUT_NUMBERS:
                continue
            codes[module, part], imports = self._nodes(module)[part]
            pending += [(module, ""), *filter(None, map(self._imported, imports))]
            package = module.rpartition(".")[0]
            if package and self._file(package):
                pending.append((package, ""))
        lines = [f"{module}:{part}\0{code}" for (module, part), code in codes.items()]
        lines += [f"{name}\0{content}" for package, name, content in self._data if (package, "") in codes]
        if self.cache and len(self._known) > before:
            write_json(self.cache, self._known)
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()

    def _named(self, name: str) -> list[tuple[str, str]]:
        """Return the nodes that a name stands for."""
        module, _, part = name.partition(":")
        file, home = self._file(module), self._home(module)
        if file is None and module not in self.plugins:
            raise ModuleNotFoundError(f"{self.root}: the package has no module {module}")
        if part and part in self._nodes(module):
            return [(module, part)]
        if file is None:
            files = [*self.plugins[module].glob("*.py")]
        else:
            files = [*file.parent.rglob("*.py")] if file.name == "__init__.py" else [file]
        modules = [".".join(path.relative_to(home).with_suffix("").parts) for path in files]
        modules = [each.removesuffix(".__init__") for each in modules]
        return [(each, one) for each in modules for one in self._nodes(each)]

    def _node(self, name: str) -> tuple[str, str] | None:
        """Return the node of an import; None for what is no module of the package, and for a table of the registry."""
        module, _, part = name.partition(":")
        if part and self._file(f"{module}.{part}"):
            module, part = f"{module}.{part}", ""
        if self._file(module) is None or (REGISTRY in module and part in TABLES):
            return None
        return module, part if part in self._nodes(module) else ""

    def _home(self, module: str) -> Path:
        """Return the folder that the top-level package of a module is in."""
        names = (name for name in self.plugins if f"{module}.".startswith(f"{name}."))
        return next((self.plugins[name].parents[name.count(".")] for name in names), self.root.parent)

    def _file(self, module: str) -> Path | None:
        path = self._home(module).joinpath(*module.split("."))
        files = (path.with_suffix(".py"), path / "__init__.py")
        return next((file for file in files if file.is_file()), None)

    def _nodes(self, module: str) -> Nodes:
        """Return digest and imports of each part of a module; "" is what is no definition of the registry."""
        if module not in self._modules:
            file = self._file(module)
            # A package without an __init__.py has no code of its own.
            content = file.read_bytes() if file else b""
            key = hashlib.sha256(OWN + module.encode() + content).hexdigest()
            if key not in self._known:
                self._known[key] = _nodes_of(module, ast.parse(content))
            self._modules[module] = self._known[key]
        return self._modules[module]

    @functools.cached_property
    def _data(self) -> list[tuple[str, str, str]]:
        """Return package, name and sha256 of each data file."""
        entries = []
        packages = (place for place in self.plugins.values() if (place / "__init__.py").is_file())
        for root in (self.root, *packages):
            for file in _files(root):
                if file.suffix != ".py":
                    home = next(folder for folder in file.parents if (folder / "__init__.py").is_file())
                    package = ".".join(home.relative_to(root.parent).parts)
                    entries.append((package, file.relative_to(root).as_posix(), sha256_of(file)))
        return entries


def _nodes_of(module: str, tree: ast.Module) -> Nodes:
    names: dict[str, set[str]] = {}  # of the module, and what they may stand for
    for statement in ast.walk(tree):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                target = f"{statement.module}:{alias.name}"
                names.setdefault(alias.asname or alias.name, set()).add(target)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                names.setdefault(alias.asname or alias.name, set()).add(alias.name)
    if REGISTRY not in module:
        return {"": (_digest(tree.body), sorted({*_uses(tree, names)}.union(*names.values())))}
    nodes: Nodes = {name: (name, sorted(targets)) for name, targets in names.items()}
    bodies: dict[str, list[ast.AST]] = {"": []}
    for statement in tree.body:
        for name, node in _definitions(statement):
            bodies.setdefault(name, []).append(node)
    names |= {name: {f"{module}:{name}"} for name in bodies if name}
    for name, body in bodies.items():
        nodes[name] = (_digest(body), sorted({use for node in body for use in _uses(node, names)}))
    return nodes


def _definitions(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a statement at the top of a module defines, by name, and each entry of a table; "" names the rest."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        names = [statement.name]
    elif not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        names = [""]
    for name in names:
        yield name, statement
        table = getattr(statement, "value", None)
        if name in TABLES and isinstance(table, ast.Dict):
            for key, value in zip(table.keys, table.values, strict=True):
                yield f"{name}[{ast.literal_eval(key)}]" if key else name, value


def _uses(tree: ast.AST, names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield what those of some names stand for that a syntax tree reads, attributes of theirs, and modules in texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield from names.get(node.id, ())
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from (f"{each.replace(':', '.')}:{node.attr}" for each in names.get(node.value.id, ()))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            yield node.value


def _digest(body: Sequence[ast.AST]) -> str:
    words: list[str] = []
    _add_code(body, words)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def contents_digest(root: Path, files: Iterable[Path], cache: Path | None) -> str:
    """Return the sha256 over the names below a root, or as they are given, and the bytes of some files.

    `cache`, a JSON file, keeps what a file gave by its size and dates, so that only what was touched is read again:
    an edit in place may put back the date of the content, not that of the last change of the file.
    """
    entries, digest = _forms(cache), hashlib.sha256()
    before = len(entries)
    for file in sorted(files):
        facts = file.stat()
        key = f"{file.resolve()} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"
        if key not in entries:
            entries[key] = sha256_of(file)
        name = file.relative_to(root) if file.is_relative_to(root) else file
        digest.update(f"{name.as_posix()}\0{entries[key]}\n".encode())
    if cache and len(entries) > before:
        write_json(cache, entries)
    return digest.hexdigest()


def _forms(cache: Path | None) -> dict[str, Any]:
    """Return the digests that a cache keeps; none where it is absent or broken."""
    try:
        return dict(read_json(cache)) if cache else {}
    except (BadInput, TypeError, ValueError):
        return {}


def _files(folder: Path) -> list[Path]:
    files = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return sorted(filter(Path.is_file, files))


def _add_code(node: object, words: list[str]) -> None:
    """Add a syntax tree to words, without positions, docstrings, and the empty fields that Python versions add."""
    if isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in ("ctx", "type_comment", "kind"):
                words.append(f"{name}(")
                _add_code(value, words)
                words.append(")")
    elif isinstance(node, list):
        for entry in node:
            # A statement that is but a constant does nothing: a docstring, an ellipsis.
            if not (isinstance(entry, ast.Expr) and isinstance(entry.value, ast.Constant)):
                _add_code(entry, words)
    else:
        words.append(f"{type(node).__name__} {node!r}")
