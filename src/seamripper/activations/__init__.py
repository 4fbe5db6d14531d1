"""What heads show on given samples."""

from seamripper.activations.collect import Activations, collect

__all__ = ["Activations", "collect"]
