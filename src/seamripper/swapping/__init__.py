"""Swapping: may the front of a new model be put under the back of an old one?"""

from seamripper.swapping.joined import JoinedNetwork
from seamripper.swapping.swap import swap
from seamripper.swapping.verdict import SwapVerdict

__all__ = ["JoinedNetwork", "SwapVerdict", "swap"]
