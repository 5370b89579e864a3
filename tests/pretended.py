"""A simulated GPU on a CPU that counts kernels and waits.

Tensors of the simulated GPU refuse tensors of the CPU. Each wraps a CPU tensor, which is used to compute.
Python sees the device cuda:0; torch's own code sees the CPU, so autograd, autocast and kernels are the CPU's.
Not simulated: the kernels that a GPU would choose, time, and memory.
"""

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.utils import clip_grad
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode
from torch.utils import _foreach_utils
from torch.utils._pytree import tree_leaves, tree_map

CUDA, CPU = torch.device("cuda:0"), torch.device("cpu")
# Kernels whose output size depends on the data, and reads of a value: the host waits for the device.
READING = {
    "aten::_local_scalar_dense", "aten::item", "aten::nonzero", "aten::masked_select", "aten::is_nonzero",
    "aten::equal", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive", "aten::repeat_interleave.Tensor",
}  # fmt: skip


class MixedDevices(AssertionError):
    """Raised if an operation gets tensors of the simulated GPU and of the CPU."""


@dataclass
class Work:
    """Work of a simulated GPU: counts of kernels, copies, and list of waits.

    Attributes:
        kernels: Number of calls by name of the kernel.
        copies: Number of copies between the devices.
        waits: Reason and calling code of each wait, as a string.
    """

    kernels: Counter[str] = field(default_factory=Counter)
    copies: int = 0
    waits: list[str] = field(default_factory=list)

    @property
    def casts(self) -> int:
        """Return the number of kernels that only changed the type of a tensor."""
        return self.kernels["aten::_to_copy"]

    def wait(self, why: str) -> None:
        """Record why the host waits for the device, and the calling code."""
        own = [one for one in traceback.extract_stack() if _is_own(Path(one.filename))]
        place = f"{Path(own[-1].filename).parent.name}/{Path(own[-1].filename).name}" if own else "torch"
        self.waits.append(f"{why} in {place}, {own[-1].name}" if own else why)


def _is_own(file: Path) -> bool:
    return file.name != Path(__file__).name and bool({"replicse", "papers"} & {*file.parts})


_work = Work()


class Pretended(Tensor):
    """A tensor of the simulated GPU; `inner` is the CPU tensor that it wraps."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Pretended":
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
        )
        made.inner = inner
        return made

    device = property(lambda self: CUDA)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)

    def __repr__(self, **_: Any) -> str:
        return f"Pretended({self.inner!r})"

    def numpy(self, **_: Any) -> Any:
        """Refuse, as a GPU tensor does."""
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        given = _tensors((args, kwargs))
        name = func._schema.name
        strange = [one for one in given if not isinstance(one, Pretended) and one.dim()]
        # Only these operations can copy between devices.
        if strange and name not in ("aten::copy_", "aten::_to_copy"):
            raise MixedDevices(f"{name} of {', '.join(map(_device_and_shape, given))}")
        result = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
        _count(func, name, args, result, given)
        return tree_map(_outer(given), result)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _device_and_shape(tensor: Tensor) -> str:
    device = "cuda" if isinstance(tensor, Pretended) else "cpu"
    return f"{device} {[*tensor.shape]}"


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, Pretended) else value


def _outer(given: list[Tensor]) -> Callable[[Any], Any]:
    """Return a function that wraps results, except tensors written in place."""
    before = {id(one.inner): one for one in given if isinstance(one, Pretended)}

    def outer(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        known = before.get(id(value))
        return Pretended(value) if known is None else known

    return outer


def _count(func: Any, name: str, args: tuple[Any, ...], result: Any, given: list[Tensor]) -> None:
    overload = f"{name}.{func._overloadname}"
    masks = [one for one in _tensors(args[1:]) if one.dtype in (torch.bool, torch.uint8)]
    by_mask = name in ("aten::index", "aten::index_put_", "aten::index_put") and bool(masks)
    if name in READING or overload in READING or by_mask:
        _work.wait(name.removeprefix("aten::") + (" by a mask" if by_mask else ""))
    made = _tensors(result)
    starts = {_inner(one).untyped_storage().data_ptr() for one in given}
    is_view = (
        made
        and not func._schema.is_mutable
        and all(one.untyped_storage().data_ptr() in starts for one in made)
    )
    if not is_view:
        _work.kernels[name] += 1


class _Device(TorchFunctionMode):
    """Redirect calls for cuda to the CPU, and wrap the results."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in (Tensor.to, Tensor.cpu, Tensor.cuda):
            return self._moved(func, args, kwargs)
        if func is Tensor.tolist and isinstance(args[0], Pretended):
            _work.wait("tolist")
            return args[0].inner.tolist()
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "cuda":
            if func in (torch.tensor, torch.as_tensor, Tensor.new_tensor):
                _copied_to_device(False, func.__name__)
            kwargs["device"] = CPU
            made = func(*args, **kwargs)
            return made if isinstance(made, Pretended) else Pretended(made)
        return func(*args, **kwargs)

    def _moved(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor, *rest = args
        places = [one for one in (*rest, kwargs.get("device")) if isinstance(one, (str, torch.device, int))]
        wanted = {Tensor.cpu: CPU, Tensor.cuda: CUDA}.get(func) or (
            torch.device(places[0]) if places else None
        )
        others = [one for one in rest if not isinstance(one, (str, torch.device))]
        kinds = [one for one in (*others, kwargs.get("dtype")) if isinstance(one, torch.dtype)]
        like = [one for one in others if isinstance(one, Tensor)]
        if like:
            wanted, kinds = like[0].device, [like[0].dtype]
        if isinstance(tensor, Pretended) and wanted == CPU:
            _work.copies += 1
            _work.wait("copy to the CPU")
            moved: Tensor = _Moving.apply(tensor, False)
        elif not isinstance(tensor, Pretended) and wanted is not None and wanted.type == "cuda":
            _copied_to_device(bool(kwargs.get("non_blocking")), "copy to the GPU")
            moved = _Moving.apply(tensor, True)
        else:
            moved = tensor
        if kwargs.get("copy") and moved is tensor:
            moved = tensor.clone()
        return Tensor.to(moved, kinds[0]) if kinds else moved


class _Moving(torch.autograd.Function):
    """A copy between the devices; the gradient is copied back."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, to_device: bool) -> Tensor:
        ctx.to_device = to_device
        return Pretended(tensor.detach().clone()) if to_device else tensor.inner.detach().clone()  # type: ignore[attr-defined]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        gradient = gradients[0]
        return (_inner(gradient) if ctx.to_device else Pretended(gradient)), None


def _copied_to_device(non_blocking: bool, why: str) -> None:
    """Count a copy to the GPU; torch waits unless the copy is non-blocking."""
    _work.copies += 1
    if not non_blocking:
        _work.wait(why)


@contextmanager
def pretended_gpu(count: int = 1) -> Iterator[Work]:
    """Simulate CUDA GPUs in a block; yield the work of the first GPU.

    Args:
        count: Number of GPUs. Default: 1.
    """
    global _work
    _work, before = Work(), _work
    # State of each GPU's random generator: a number that tests can recognise.
    states = {place: torch.full((16,), place, dtype=torch.uint8) for place in range(count)}

    def place_of(device: Any = None) -> int:
        place = 0 if device is None else torch.device(device).index or 0
        if place >= count:
            raise RuntimeError(f"CUDA error: invalid device ordinal {place}")
        return place

    def set_state(state: Tensor, device: Any = "cuda") -> None:
        states[place_of(device)] = state.clone()

    grouping = "_group_tensors_by_device_and_dtype"
    autocast, enabled, kind = torch.autocast, torch.is_autocast_enabled, torch.get_autocast_dtype
    replaced: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "_lazy_init": lambda: None,
        "device_count": lambda: count,
        "current_device": lambda: 0,
        "get_device_name": lambda device=None: "a pretended GPU",
        "get_device_capability": lambda device=None: (8, 0),
        "is_bf16_supported": lambda *_, **__: True,
        "synchronize": lambda device=None: _work.wait("synchronize"),
        "get_rng_state": lambda device="cuda": states[place_of(device)].clone(),
        "set_rng_state": set_state,
        "get_rng_state_all": lambda: [states[place].clone() for place in range(count)],
        "set_rng_state_all": lambda every: list(map(set_state, every, range(len(every)))),
        "manual_seed_all": lambda seed: None,
        "empty_cache": lambda: None,
        "max_memory_allocated": lambda device=None: 0,
        "reset_peak_memory_stats": lambda device=None: None,
    }

    def on_cpu(device: str) -> str:
        return "cpu" if device == "cuda" else device

    def on_gpu(grouped: Callable[..., Any]) -> Callable[..., Any]:
        def grouped_on_gpu(*arguments: Any, **options: Any) -> Any:
            groups = {}
            for (device, *rest), tensors in grouped(*arguments, **options).items():
                groups[CUDA if device == CPU else device, *rest] = tensors
            return groups

        return grouped_on_gpu

    patches = [patch.object(torch.cuda, name, new) for name, new in replaced.items()]
    patches += [
        patch.object(torch, "autocast", lambda device, *a, **o: autocast(on_cpu(device), *a, **o)),
        patch.object(torch, "is_autocast_enabled", lambda device="cuda": enabled(on_cpu(device))),
        patch.object(torch, "get_autocast_dtype", lambda device: kind(on_cpu(device))),
        patch.object(Optimizer, grouping, staticmethod(on_gpu(getattr(Optimizer, grouping)))),
        patch.object(clip_grad, grouping, on_gpu(getattr(clip_grad, grouping))),
        patch.object(
            _foreach_utils, "_foreach_supported_types", [*_foreach_utils._foreach_supported_types, Pretended]
        ),
    ]
    # Parameters must be replaced by simulated tensors, instead of getting new data.
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        with ExitStack() as stack:
            for each in patches:
                stack.enter_context(each)
            stack.enter_context(_Device())
            yield _work
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
        _work = before
