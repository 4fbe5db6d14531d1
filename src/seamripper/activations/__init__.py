"""What heads show on given samples, kept in memory or in files, and how it becomes rows."""

from seamripper.activations.collect import Activations, collect
from seamripper.activations.sampling import Sampling, rows_of
from seamripper.activations.stored import load_activations

__all__ = ["Activations", "Sampling", "collect", "load_activations", "rows_of"]
