"""The dataset of PyTorch over a frame; importing this imports PyTorch."""

from __future__ import annotations

import torch
from torch.utils.data import IterableDataset, get_worker_info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._tensors import TensorBatches


class FrameDataset(IterableDataset):  # type: ignore[misc]
    """Batches of tensors of a frame; `set_epoch` changes how they are mixed."""

    def __init__(self, batches: TensorBatches, rank_of_world: tuple[int | None, int | None]) -> None:
        super().__init__()
        self.epoch = 0
        self._batches = batches
        self._rank_of_world = rank_of_world

    def set_epoch(self, epoch: int) -> None:
        """Mixes the rows in another order."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        rank, world = self._rank()
        return self._batches.read(rank * workers + worker, world * workers, self.epoch)

    def _rank(self) -> tuple[int, int]:
        rank, world = self._rank_of_world
        distributed = torch.distributed
        if rank is None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        return rank or 0, world or 1
