"""Learning from several annotations: losses, consensus on the device, networks, and a study that compares strategies.

Needs PyTorch: ``pip install "manytruths[torch]"``; the rest of manytruths does not.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError('manytruths.learning needs PyTorch; install it with pip install "manytruths[torch]"') from _error

from .annotations import inner_region, majority_vote, outer_region, vote_share
from .batch_staple import BatchStaple, staple
from .energy import energy_distance
from .fitting import Augmentation, Schedule
from .losses import (
    AverageCrossEntropy,
    ConfusionMatrixLoss,
    ConsensusIndividualsLoss,
    ExtendedDiceLoss,
    ReferenceCrossEntropy,
)
from .networks import DeepLab, UNet
from .sampling import EnergyLoss
from .soft_labels import SoftCrossEntropy
from .trained_network import TrainedNetwork, predict
from .training import TrainPlan, train

__all__ = [
    "Augmentation",
    "AverageCrossEntropy",
    "BatchStaple",
    "ConfusionMatrixLoss",
    "ConsensusIndividualsLoss",
    "DeepLab",
    "EnergyLoss",
    "ExtendedDiceLoss",
    "ReferenceCrossEntropy",
    "Schedule",
    "SoftCrossEntropy",
    "TrainPlan",
    "TrainedNetwork",
    "UNet",
    "energy_distance",
    "inner_region",
    "majority_vote",
    "outer_region",
    "predict",
    "staple",
    "train",
    "vote_share",
]
