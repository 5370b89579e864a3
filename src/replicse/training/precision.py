"""The precision of training, and whether a device supports it."""

import torch

from replicse.encoder.products import has_tf32
from replicse.errors import BadInput

# The dtype of matrix products under autocast; for fp32 and tf32 autocast is disabled.
DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


def check_precision(precision: str, device: torch.device) -> None:
    """Check that a device supports training in a precision.

    Args:
        precision: "fp32", "tf32", "bf16" or "fp16".
        device: The device to use for training.

    Raises:
        BadInput: If the device does not support the precision.
    """
    if precision not in ("fp16", "tf32"):
        return
    if device.type == "cpu":
        raise BadInput(f"precision {precision} needs a GPU; set precision: bf16 or fp32 in config.yaml")
    if precision == "tf32" and not has_tf32(device):
        name = torch.cuda.get_device_name(device)
        raise BadInput(f"precision tf32 needs a GPU from Ampere on, not {name}; set precision: fp32")


def autocast_to(precision: str, device: torch.device) -> torch.autocast:
    """Create the autocast context of a precision.

    Args:
        precision: "fp32", "tf32", "bf16" or "fp16".
        device: The device to use for training.

    Returns:
        The context. Autocast is disabled for fp32 and tf32.
    """
    return torch.autocast(device.type, DTYPES[precision], enabled=precision in ("bf16", "fp16"))
