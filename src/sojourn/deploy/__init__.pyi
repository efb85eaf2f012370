"""The public names, by the file that defines them."""

from sojourn.deploy.interface import About, Policy
from sojourn.deploy.monitor import Monitor
from sojourn.deploy.networks import NetworkPolicy
from sojourn.deploy.reading import load_policy
from sojourn.deploy.tables import LabelPolicy, RandomisedPolicy, TablePolicy
from sojourn.deploy.tiled import TilePolicy

__all__ = [
    "About",
    "LabelPolicy",
    "Monitor",
    "NetworkPolicy",
    "Policy",
    "RandomisedPolicy",
    "TablePolicy",
    "TilePolicy",
    "load_policy",
]
