"""Detectors: each tells stitched activations from the receiver's own. One file each."""

from seamripper.audits.detectors.at_cut import DetectorAtCut
from seamripper.audits.detectors.base import Detector, StitchedReader
from seamripper.audits.detectors.energy import EnergyDetector
from seamripper.audits.detectors.fast import FastDetector

__all__ = ["Detector", "DetectorAtCut", "EnergyDetector", "FastDetector", "StitchedReader"]
