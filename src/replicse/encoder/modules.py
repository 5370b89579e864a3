"""The file modules.json of a sentence-transformers folder."""

from pathlib import Path
from typing import NamedTuple

from replicse.encoder.folders import ADAPTER, MODULES
from replicse.encoder.huggingface import has_masked_lm
from replicse.encoder.stored import check_weights, has_weights, read_config, read_weights
from replicse.errors import BadInput
from replicse.files import below, read_json
from replicse.registry.artefacts import CONFIG

# The folder for the unchanged copy of a prepared encoder.
ORIGINAL = "original"
_LIBRARY = "sentence_transformers."
_STATIC = "sentence_transformers.sentence_transformer.modules.StaticEmbedding"
_NORMALIZE = "sentence_transformers.base.modules.Normalize"


class Module(NamedTuple):
    """A module of a folder: the name of its class and the folder of its files."""

    name: str
    place: Path

    @property
    def kind(self) -> str:
        """Return the class without the package, e.g. `Pooling`."""
        return self.name.rpartition(".")[2]


def has_modules(folder: Path) -> bool:
    """Return whether a folder lists modules or contains model2vec.

    A model2vec encoder is loaded as static embeddings.
    """
    return (folder / MODULES).is_file() or is_model2vec(folder)


def is_model2vec(folder: Path) -> bool:
    """Return whether a folder contains a model2vec encoder.

    Older releases of model2vec did not write modules.json.
    """
    return (folder / CONFIG).is_file() and read_config(folder).get("model_type") == "model2vec"


def list_modules(folder: Path) -> list[Module]:
    """List the modules of a folder in order.

    The list is empty if the folder has no modules.

    Raises:
        BadInput: modules.json is not a list of classes with paths inside the folder.
    """
    file = folder / MODULES
    if not file.is_file():
        if not is_model2vec(folder):
            return []
        modules = [Module(_STATIC, folder)]
        if read_config(folder).get("normalize"):
            modules.append(Module(_NORMALIZE, folder))
        return modules
    try:
        listed = [(str(each["type"]), each["path"]) for each in read_json(file)]
    except (KeyError, TypeError):
        listed = []
    if not listed:
        raise BadInput(f"{file}: no list of modules that each name a type and a path; save the encoder again")
    modules = []
    for name, path in listed:
        # An empty path means the folder itself.
        place = below(folder, path, f"the path of a module below the folder in {file}") if path else folder
        modules.append(Module(name, place))
    return modules


def transformer_folder(folder: Path) -> Path:
    """Return the folder of the transformer.

    This is the folder of the first module, or the folder itself if it has no modules.

    Raises:
        BadInput: the first module is not a transformer.
    """
    modules = list_modules(folder)
    if not modules:
        return folder
    first = modules[0]
    if first.name.startswith(_LIBRARY) and first.kind != "Transformer":
        raise BadInput(
            f"{folder}: its first module is {first.kind}, not a transformer, so it has no token states to pool or to"
            " train; leave out the pooling, or choose another encoder"
        )
    return first.place


def check_modules(folder: Path) -> None:
    """Raise BadInput for modules that the library should not load.

    The error contains the reason. sentence-transformers itself does not name unsupported formats, and casts quantised
    weights to floats.
    """
    for module in list_modules(folder):
        if not module.name.startswith(_LIBRARY):
            raise BadInput(
                f'{folder / MODULES}: "{module.name}" is code of the folder, which is not run; give --pooling to read'
                " its transformer alone, or evaluate a function of sentences with replicse.evaluate"
            )
        if module.kind == "Transformer" and not (module.place / ADAPTER).is_file():
            check_weights(module.place)
            family = read_config(module.place).get("model_type")
            if isinstance(family, str):
                has_masked_lm(family, f"{folder}: ")
        elif module.kind != "Transformer" and has_weights(module.place):
            read_weights(module.place)
