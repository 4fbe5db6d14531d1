"""Interventions: changes of the inputs that take one cue away, or set it against the others. One file each."""

from seamripper.audits.interventions.base import Intervention
from seamripper.audits.interventions.choosing import chosen_interventions, intervention_named, interventions

__all__ = ["Intervention", "chosen_interventions", "intervention_named", "interventions"]
