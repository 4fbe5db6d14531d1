"""What heads show on given samples, kept in memory or in files, and how it becomes rows."""

from seamripper.activations.activations import Activations
from seamripper.activations.collect import collect, collect_cuts, require_finite
from seamripper.activations.principal import PrincipalDirections, principal_directions
from seamripper.activations.recorded import replay
from seamripper.activations.sampling import Sampling, rows_of

__all__ = [
    "Activations",
    "PrincipalDirections",
    "Sampling",
    "collect",
    "collect_cuts",
    "principal_directions",
    "replay",
    "require_finite",
    "rows_of",
]
