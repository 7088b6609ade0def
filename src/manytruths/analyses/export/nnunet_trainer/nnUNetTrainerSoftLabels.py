"""A trainer of nnU-Net v2 for the soft labels that ``manytruths export nnunet --disputed soft`` writes.

nnU-Net 2.8.0 and later find the class by its name in the folder that an environment variable names:

    nnUNet_extTrainer=FOLDER nnUNetv2_train 501 2d 0 -tr nnUNetTrainerSoftLabels

with FOLDER the folder of this file. ``nnUNetv2_predict`` needs the variable, too. Earlier versions look for trainers in
their own folder ``training/nnUNetTrainer`` alone.

Masks hold whole numbers. ``soft_labels`` of dataset.json lists the probability that each of them stands for, from 0 for
the first (background); the number after the last is what nobody rated. The network has one output, a sigmoid, which is
trained with cross-entropy and a Dice semimetric, both of which are smallest where it equals the probability.

Wang Z et al. Dice semimetric losses: optimizing the Dice score with soft labels. MICCAI 2023, LNCS 14222.
doi:10.1007/978-3-031-43898-1_46
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import torch
from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer
from torch import Tensor, nn
from torch.nn import functional


class SoftLabelLoss(nn.Module):
    """Cross-entropy plus the Dice semimetric of a sigmoid and probabilities, where anybody rated.

    The target has the probability, and a second channel, 1 where nobody rated, if there are such pixels.
    """

    def __init__(self, batch_dice: bool = False) -> None:
        super().__init__()
        self.batch_dice = batch_dice

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        logits, probability = output.float(), target[:, :1]
        rated = 1 - target[:, 1:] if target.shape[1] > 1 else torch.ones_like(probability)
        entropy = functional.binary_cross_entropy_with_logits(logits, probability, reduction="none") * rated
        marked, wanted = torch.sigmoid(logits) * rated, probability * rated
        axes = list(range(0 if self.batch_dice else 1, output.ndim))
        apart = (marked - wanted).abs().sum(axes)
        dice = apart / (marked.sum(axes) + wanted.sum(axes)).clamp(min=1e-6)
        return entropy.sum() / rated.sum().clamp(min=1) + dice.mean()


class nnUNetTrainerSoftLabels(nnUNetTrainer):
    """Trains on the probabilities that the numbers in the masks stand for."""

    def initialize(self) -> None:
        if "soft_labels" not in self.dataset_json:
            raise RuntimeError(
                "dataset.json has no soft_labels; export the data set with manytruths export nnunet --disputed soft"
            )
        if self.is_cascaded:
            raise RuntimeError("soft labels cannot be trained in a cascade; take 2d, 3d_fullres or 3d_lowres")
        self._refuse_resampled()
        # the last number is what nobody rated
        self.soft_labels = torch.tensor([*self.dataset_json["soft_labels"], 0.0], device=self.device)
        super().initialize()

    def _refuse_resampled(self) -> None:
        """Between two numbers lies no probability, so that masks must not have been interpolated."""
        wanted = np.array(self.configuration_manager.spacing)
        path = os.path.join(self.preprocessed_dataset_folder_base, "dataset_fingerprint.json")
        with open(path, encoding="utf-8") as file:
            spacings = [np.array(own)[self.plans_manager.transpose_forward] for own in json.load(file)["spacings"]]
        same = all(np.allclose(own[-len(wanted) :], wanted, rtol=1e-3) for own in spacings)
        order = self.configuration_manager.configuration.get("resampling_fn_seg_kwargs", {}).get("order")
        if not same and order != 0:
            raise RuntimeError(
                "images of unequal voxel sizes were resampled, and the numbers of their soft labels interpolated: set "
                '"order" to 0 in "resampling_fn_seg_kwargs" of this configuration in the plans file, and run '
                "nnUNetv2_preprocess again"
            )

    def _build_loss(self) -> nn.Module:
        usual = super()._build_loss()
        own = SoftLabelLoss(self.configuration_manager.batch_dice)
        if not self.enable_deep_supervision:
            return own
        usual.loss = own  # keeps the weights of the resolutions
        return usual

    @staticmethod
    def get_training_transforms(*args: Any, regions: Any = None, **options: Any) -> Any:
        """The usual ones, but numbers stay numbers and are never interpolated."""
        made = nnUNetTrainer.get_training_transforms(*args, regions=None, **options)
        spatial = [one for one in made.transforms if hasattr(one, "mode_seg")]
        if not spatial:
            raise RuntimeError("this version of nnU-Net moves masks in an unknown way; use another one")
        for one in spatial:
            one.mode_seg = "nearest"
        return made

    @staticmethod
    def get_validation_transforms(*args: Any, regions: Any = None, **options: Any) -> Any:
        """The usual ones, but numbers stay numbers."""
        return nnUNetTrainer.get_validation_transforms(*args, regions=None, **options)

    def train_step(self, batch: dict[str, Any]) -> dict[str, Any]:
        return super().train_step(self._with_probabilities(batch))

    def validation_step(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The Dice that is shown is against the probabilities."""
        return super().validation_step(self._with_probabilities(batch))

    def _with_probabilities(self, batch: dict[str, Any]) -> dict[str, Any]:
        target = batch["target"]
        soft = [self._look_up(own) for own in target] if isinstance(target, list) else self._look_up(target)
        return {**batch, "target": soft}

    def _look_up(self, numbers: Tensor) -> Tensor:
        """(N, 1, …): the probability; where the data set has unrated pixels, (N, 2, …) with 1 for these."""
        place = numbers[:, :1].to(self.device, torch.long)
        if not self.label_manager.has_ignore_label:
            return self.soft_labels[place]
        ignored = (place == len(self.soft_labels) - 1).float()
        return torch.cat([self.soft_labels[place], ignored], dim=1)

    def perform_actual_validation(self, save_probabilities: bool = False) -> None:
        """Predictions are scored against the pixels that are rather marked than not."""
        manager = self.label_manager
        every = manager._regions
        manager._regions = [tuple(k for k, p in enumerate(self.dataset_json["soft_labels"]) if p >= 0.5)]
        try:
            super().perform_actual_validation(save_probabilities)
        finally:
            manager._regions = every
