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
    """A module of a sentence-transformers folder.

    Attributes:
        name: The name of the class, such as "sentence_transformers.models.Pooling".
        place: The folder of the module's files.
    """

    name: str
    place: Path

    @property
    def kind(self) -> str:
        """Return the class without the package, e.g. `Pooling`."""
        return self.name.rpartition(".")[2]


def has_modules(folder: Path) -> bool:
    """Return whether a folder has modules.json or a model2vec encoder.

    A model2vec encoder is loaded as static embeddings.

    Args:
        folder: The folder of an encoder.
    """
    return (folder / MODULES).is_file() or is_model2vec(folder)


def is_model2vec(folder: Path) -> bool:
    """Return whether a folder contains a model2vec encoder.

    Older releases of model2vec did not write modules.json.

    Args:
        folder: The folder of an encoder.
    """
    return (folder / CONFIG).is_file() and read_config(folder).get("model_type") == "model2vec"


def list_modules(folder: Path) -> list[Module]:
    """List the modules of a folder in order.

    Args:
        folder: The folder of an encoder.

    Returns:
        A list of modules, empty if the folder has no modules.

    Raises:
        BadInput: If modules.json is not a list of classes with paths inside the folder.
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
        raise BadInput(f"{file}: expected a list of modules with type and path; save the encoder again")
    modules = []
    for name, path in listed:
        # An empty path means the folder itself.
        place = below(folder, path, f"the path of a module below the folder in {file}") if path else folder
        modules.append(Module(name, place))
    return modules


def transformer_folder(folder: Path) -> Path:
    """Return the folder of the transformer.

    Args:
        folder: The folder of an encoder.

    Returns:
        The folder of the first module, or the folder itself if it has no modules.

    Raises:
        BadInput: If the first module is not a transformer.
    """
    modules = list_modules(folder)
    if not modules:
        return folder
    first = modules[0]
    if first.name.startswith(_LIBRARY) and first.kind != "Transformer":
        raise BadInput(
            f"{folder}: the first module is {first.kind}, not a transformer, so token states cannot be pooled or"
            " trained; remove the pooling, or use another encoder"
        )
    return first.place


def check_modules(folder: Path) -> None:
    """Raise an error for modules that sentence-transformers should not load.

    Its own errors do not name unsupported formats, and it casts quantised weights to floats.

    Args:
        folder: The folder of an encoder.

    Raises:
        BadInput: If a module is code of the folder, or the format of its weights is not supported.
    """
    for module in list_modules(folder):
        names = [module.name, *([_read_activation(module.place)] if module.kind == "Dense" else [])]
        for name in names:
            if not name.startswith((_LIBRARY, "torch.")):
                raise BadInput(
                    f'{folder / MODULES}: "{name}" is code of the folder, which is not run; use --pooling to'
                    " load only the transformer, or evaluate a function of sentences with replicse.evaluate"
                )
        if module.kind == "Transformer" and not (module.place / ADAPTER).is_file():
            check_weights(module.place)
            family = read_config(module.place).get("model_type")
            if isinstance(family, str):
                has_masked_lm(family, f"{folder}: ")
        elif module.kind != "Transformer" and has_weights(module.place):
            read_weights(module.place)


def _read_activation(place: Path) -> str:
    """Return the class of a module's activation function; Tanh by default.

    If a class is not from torch, sentence-transformers uses Tanh instead.
    """
    settings = read_config(place) if (place / CONFIG).is_file() else {}
    return str(settings.get("activation_function") or "torch.nn.Tanh")
