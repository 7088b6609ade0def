"""Learning from many annotations: losses, truths on the device, networks, and the study that compares strategies.

Needs PyTorch: ``pip install "manytruths[torch]"``. Nothing else in manytruths does.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError('manytruths.learning needs PyTorch; install it with pip install "manytruths[torch]"') from _error

from .augmentation import Augmentation
from .confusion import ConfusionMatrixLoss
from .cross_entropy import AverageCrossEntropy, ReferenceCrossEntropy
from .extended_dice import ExtendedDiceLoss
from .fitting import Schedule
from .individuals import ConsensusIndividualsLoss
from .networks import DeepLab, UNet
from .soft_labels import inner, majority, outer, vote_share
from .staple import BatchStaple, staple
from .trained import Trained
from .training import TrainPlan, train

__all__ = [
    "Augmentation",
    "AverageCrossEntropy",
    "BatchStaple",
    "ConfusionMatrixLoss",
    "ConsensusIndividualsLoss",
    "DeepLab",
    "ExtendedDiceLoss",
    "ReferenceCrossEntropy",
    "Schedule",
    "TrainPlan",
    "Trained",
    "UNet",
    "inner",
    "majority",
    "outer",
    "staple",
    "train",
    "vote_share",
]
