"""Mixtures: ways to take a part of an input from another one. One file each."""

from seamripper.audits.mixtures.base import Mixture, chosen_mixtures, mixtures

__all__ = ["Mixture", "chosen_mixtures", "mixtures"]
