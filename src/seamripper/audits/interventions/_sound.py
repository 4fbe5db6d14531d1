"""Sound as an intervention takes it."""

from __future__ import annotations

from torch import Tensor

from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError


def sound(samples: Samples, what: str) -> Tensor:
    """The samples' waveforms or spectrograms (n, …) as a model takes them; an error if they can be none."""
    inputs = samples.batch(slice(None))
    if isinstance(inputs, Tensor) and inputs.dim() >= 2 and inputs.is_floating_point():
        return inputs
    shown = f"inputs of shape {samples.shape} in {inputs.dtype}" if isinstance(inputs, Tensor) else "named inputs"
    raise InapplicableError(
        f"{what} is for sound in floating point, (n, t) or (n, 1, t), but {samples.name} has {shown}."
    )


def axis_of(inputs: Tensor, axis: int, samples: Samples, what: str) -> int:
    """The axis, counted from the front; an error if the samples have none such."""
    dims = inputs.dim()
    # Axis 0 is that of the samples, which are not to change places.
    if not (1 <= axis < dims or -dims < axis < 0):
        raise InapplicableError(
            f"{what} along axis {axis} is not possible for {samples.name}: an axis of one sample is "
            f"1 … {dims - 1}, or −1 … −{dims - 1} from the end."
        )
    return axis % dims
