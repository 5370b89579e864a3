"""The engine of `transformers`, for families such as ELECTRA and MPNet."""

import inspect
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from replicse.encoder.backbone import ALL_TOKENS, Backbone, Hidden, NeededStates
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead, head_config, head_weights
from replicse.encoder.stored import write_folder
from replicse.errors import BadInput, nearest
from replicse.files import not_written, read_json
from replicse.registry.artefacts import CONFIG, WEIGHTS
from replicse.registry.registry import current

# The maximum row length of families without a limit, such as T5, whose positions are relative.
UNLIMITED = 1 << 30
# Number of ids of an encoder without token embeddings, such as CANINE, which hashes Unicode code points.
CODE_POINTS = 0x110000


class ComputedStates(nn.Module):
    """A module that replaces an encoder and returns given hidden states.

    Args:
        states: The hidden states, (n, hidden).
    """

    def __init__(self, states: Tensor) -> None:
        super().__init__()
        self.states = states

    def forward(self, *_: Any, **__: Any) -> Any:
        """Return the states, (n, hidden), as the states of one row."""
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=self.states[None])


class TransformersBackbone(Backbone):
    """A model of `transformers`.

    Args:
        network: The encoder, with or without a masked-LM head.
        longest: The maximum number of tokens of a row. Default: the limit of the model.
    """

    engine = "transformers"
    network: Any

    def __init__(self, network: Any, longest: int | None = None) -> None:
        super().__init__()
        self.network = network
        config = network.config
        self.rates = {key: value for key, value in config.to_dict().items() if _is_rate(key, value)}
        self.hidden, self.layer_count = config.hidden_size, config.num_hidden_layers
        table = token_table(self.model)
        self.vocabulary = CODE_POINTS if table is None else len(table)
        self.first_position = first_position(self.model)
        limit = longest_row(self.model)
        self.max_length = min(longest or limit, limit)
        # By default, a decoder caches keys and values for the next token.
        takes_cache = "use_cache" in inspect.signature(self.model.forward).parameters
        self.options: dict[str, Any] = {"use_cache": False} if takes_cache else {}

    @property
    def model(self) -> Any:
        """Return the encoder without the masked-LM head."""
        return self.network.base_model

    @property
    def input_embeddings(self) -> nn.Parameter:
        """Return the token embeddings, (vocabulary, width).

        Raises:
            BadInput: If the family has no token embeddings.
        """
        table = token_table(self.model)
        if table is None:
            raise BadInput(
                f"{self.model.config.model_type} does not have token embeddings, which training requires; use"
                " another encoder"
            )
        return table

    @property
    def predicts_tokens(self) -> bool:
        """Return whether the encoder has a masked-LM head."""
        return self.network is not self.model

    def forward(
        self, batch: TokenBatch, need: NeededStates = ALL_TOKENS, first_vector: Tensor | None = None
    ) -> Hidden:
        """Compute hidden states, see `Backbone.forward`.

        Unused states are computed too.
        """
        wanted = self.check_states(batch, need, first_vector)
        tokens = batch.tokens.new_full((batch.rows * batch.longest,), self.model.config.pad_token_id or 0)
        tokens = tokens.index_copy(0, batch.padded_places, batch.tokens).view(batch.rows, -1)
        mask = batch.padded_mask if batch.attention_mask is None else batch.attention_mask
        needs_all = any(state != self.layer_count for state in wanted)
        options = self._positions(batch) | self.options
        with self._first_replaced(first_vector):
            output = self.model(
                input_ids=tokens, attention_mask=mask.long(), output_hidden_states=needs_all, **options
            )
        states: Sequence[Any] = output.hidden_states if needs_all else [None] * (self.layer_count + 1)
        if len(states) != self.layer_count + 1:
            family = self.model.config.model_type
            raise BadInput(
                f"{family}: {len(states)} hidden states for {self.layer_count} layers; use a pooling of the last layer"
            )
        # The last of `hidden_states` can lack a final LayerNorm.
        states = [*states[:-1], output.last_hidden_state]
        if need.tokens:
            return Hidden([batch.unpad(states[state]) for state in wanted])
        return Hidden([states[state][:, 0] for state in wanted])

    def _positions(self, batch: TokenBatch) -> dict[str, Tensor]:
        """Return the padded given positions of a batch, or an empty dict.

        Raises BadInput if the family does not accept positions.
        """
        given = batch.given_positions
        if given is None:
            return {}
        config = self.model.config.to_dict()
        takes = "position_ids" in inspect.signature(self.model.forward).parameters
        if not takes or any(value for key, value in config.items() if key.startswith("relative_attention")):
            family = self.model.config.model_type
            raise BadInput(
                f"{family} does not accept position ids, which denoise requires; remove denoise from the pooling"
            )
        return {"position_ids": batch.pad(given[:, None]).squeeze(-1)}

    @contextmanager
    def _first_replaced(self, vectors: Tensor | None) -> Iterator[None]:
        """Replace position 0 of hidden state 0 by sentence vectors in a block."""
        if vectors is None:
            yield
            return

        def replace(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
            return torch.cat([vectors[:, None].to(output.dtype), output[:, 1:]], dim=1)

        hook = self._embedding_layer().register_forward_hook(replace)
        try:
            yield
        finally:
            hook.remove()

    def _embedding_layer(self) -> nn.Module:
        """Return the module whose output is hidden state 0."""
        # Narrow embeddings are followed by a projection.
        if hasattr(self.model, "embeddings_project"):
            return self.model.embeddings_project
        table = self.model.get_input_embeddings()
        for part in self.model.children():
            if part is not table and table in set(part.modules()):
                return part
        raise BadInput(
            f"{self.model.config.model_type} does not have an embedding layer; use another encoder for this term"
        )

    def set_dropout(self, hidden: float, attention: float, heads: float = 0) -> None:
        """Set the dropout rates of hidden values and attention weights.

        A network without weights is created with these rates. The dropout modules and float attributes are copied,
        because families store the rates in different places.

        Args:
            hidden: The probability to drop a hidden value, from 0 to 1.
            attention: The probability to drop an attention weight.
            heads: Must be 0. Default: 0.

        Raises:
            BadInput: If `heads` is not 0.
        """
        if heads:
            raise BadInput(
                f"{self.model.config.model_type}: only the packed engine (BERT, RoBERTa, DistilBERT) supports"
                " dropout.heads; remove it"
            )
        config = self.network.config
        for key in self.rates:
            setattr(config, key, float(attention if "att" in key else hidden))
        with torch.device("meta"):
            template = type(self.network)(type(config).from_dict(config.to_dict()))
        modules = dict(self.network.named_modules())
        for name, module in template.named_modules():
            present: Any = modules.get(name)
            if present is None:
                continue  # a pooler, which was not loaded
            if isinstance(present, nn.Dropout) or isinstance(module, nn.Dropout):
                # Some families have another module instead of dropout if the rate is 0.
                self.network.set_submodule(name, module.train(self.training))
            else:
                numbers = {key: value for key, value in vars(module).items() if isinstance(value, float)}
                vars(present).update(numbers)

    def initialise(self) -> None:
        """Initialise all weights at random as the family does."""
        self.network.load_state_dict(type(self.network)(self.network.config).state_dict())

    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the embedding layer.

        They include a projection of narrow embeddings.
        """
        table, projection = self.model.get_input_embeddings(), getattr(self.model, "embeddings_project", None)
        parameters: list[nn.Parameter] = []
        for part in self.model.children():
            if part is projection or table in set(part.modules()):
                parameters += part.parameters()
        return parameters

    def layer_parameters(self, number: int) -> list[nn.Parameter]:
        """Return the parameters of a layer.

        Args:
            number: The number of the layer, from 0.

        Raises:
            BadInput: If layers share parameters.
        """
        for part in self.model.modules():
            if isinstance(part, nn.ModuleList) and len(part) == self.layer_count:
                return list(part[number].parameters())
        family = self.model.config.model_type
        raise BadInput(f"{family}: the {self.layer_count} layers share their weights; remove freeze.layers")

    def token_logits(self, states: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Compute masked-LM logits, see `Backbone.token_logits`."""
        assert self.predicts_tokens
        model, place = self.model, self.network.base_model_prefix
        # Heads differ between families. Calling the network with an encoder that returns the states works for all.
        setattr(self.network, place, ComputedStates(states))
        try:
            logits = self.network(input_ids=None).logits[0]
        finally:
            setattr(self.network, place, model)
        return logits if shortlist is None else logits[:, shortlist]

    def token_head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the masked-LM head.

        Shared embeddings are not included.
        """
        shared = {id(parameter) for parameter in self.model.parameters()}
        return [parameter for parameter in self.network.parameters() if id(parameter) not in shared]

    def new_token_head(self) -> None:
        """Initialise a masked-LM head at random.

        Raises:
            BadInput: If the family has no masked-LM head.
        """
        from transformers import AutoModelForMaskedLM

        model = self.model
        try:
            network = AutoModelForMaskedLM.from_config(model.config)
        except ValueError:
            raise BadInput(
                f"transformers does not have a masked-LM head for {model.config.model_type}; use another encoder"
            ) from None
        setattr(network, network.base_model_prefix, model)
        network.tie_weights()
        self.network = network.to(self.device).train(self.training)

    def drop_token_head(self) -> None:
        """Remove the masked-LM head."""
        self.network = self.model

    def save(self, folder: Path, head: SentenceHead | None = None, tokenizer: Path | None = None) -> None:
        """Save the encoder in a folder.

        `open_backbone` and `transformers` can load the folder. By default, the folder has no sentence head.
        """
        base = f"{self.network.base_model_prefix}." if self.predicts_tokens else ""
        with tempfile.TemporaryDirectory() as temporary:
            try:
                self.network.save_pretrained(temporary, max_shard_size="1TB")
            except (OSError, SafetensorError) as error:
                raise not_written(temporary, error) from None
            weights = load_file(Path(temporary) / WEIGHTS)
            # The dropout rates of a run are not saved, but the original rates.
            config = {**read_json(Path(temporary) / CONFIG), **self.rates}
        config.pop("sentence_head", None)
        tokenizer_file = Path(tokenizer or self.tokenizer_file)
        weights |= head_weights(head, base)
        write_folder(Path(folder), weights, config | head_config(head), tokenizer_file, self.max_length)


def has_masked_lm(family: str, location: str = "") -> bool:
    """Return whether a family has a masked-LM head.

    The family of a plug-in is registered first.

    Args:
        family: The `model_type` in config.json.
        location: The prefix of error messages. Default: empty.

    Raises:
        BadInput: If the family is unknown, or the code of a plug-in fails.
    """
    from transformers import CONFIG_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    if code := current().families.get(family):
        try:
            resolve_name(code)()
        except Exception as error:
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise BadInput(f'{code} cannot register "{family}" ({problem}); fix the plug-in') from error
    if family not in CONFIG_MAPPING:
        if code:
            raise BadInput(f'{code} does not register "{family}"; fix the plug-in')
        raise BadInput(
            f'{location}neither transformers nor a plug-in in use supports family "{family}"; code in a folder is not'
            " run, but replicse.evaluate accepts a function of sentences"
        )
    return CONFIG_MAPPING[family] in MODEL_FOR_MASKED_LM_MAPPING


def check_keys(location: str, keys: Iterable[str], default: Any) -> None:
    """Raise an error if a default configuration does not have a key.

    Args:
        location: The prefix of the message, such as "init.config".
        keys: The keys to check.
        default: The default configuration of the family.

    Raises:
        BadInput: If a key is unknown. The message suggests the most similar key.
    """
    for key in keys:
        if not hasattr(default, key):
            known, family = nearest(key, default.to_dict()), default.model_type
            raise BadInput(f'{location}: the configuration of {family} does not have a key "{key}"{known}')


def _is_rate(key: str, value: Any) -> bool:
    return ("dropout" in key or key.endswith("pdrop")) and type(value) in (float, int)


def token_table(model: Any) -> nn.Parameter | None:
    """Return the token embeddings of a model.

    Args:
        model: A model of `transformers`.

    Returns:
        The embeddings, (vocabulary, width), or None if the model has no table, such as CANINE.
    """
    try:
        return model.get_input_embeddings().weight
    except (NotImplementedError, AttributeError):
        return None


def longest_row(model: Any) -> int:
    """Return the maximum number of tokens of a row.

    Args:
        model: A model of `transformers`.

    Returns:
        The number of position embeddings after the first position; UNLIMITED if positions are not limited.
    """
    # XLNet has -1.
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    return positions - first_position(model) if positions > 0 else UNLIMITED


def first_position(model: Any) -> int:
    """Return the position id of the first token of a row.

    RoBERTa and related families start to count after the padding id.

    Args:
        model: A model of `transformers`.
    """
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else padding + 1
