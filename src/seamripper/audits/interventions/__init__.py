"""Interventions: changes of the inputs that take one cue away, or set it against the others. One file each."""

from seamripper.audits.interventions.base import Intervention, chosen_interventions, interventions

__all__ = ["Intervention", "chosen_interventions", "interventions"]
