"""An institution's images: in a private folder, from which nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from openfl.federated import KerasDataLoader

from src.network import CLASSES, SHAPE

READ = 36  # the stream of a seed from which the workshop's own runs draw the order of images, too


class Shard(KerasDataLoader):
    """Reads `images.npz` in the folder that plan/data.yaml names: images float32 [n, 28, 28, 1] from 0 to 1 and labels
    int32 [n] to learn from (X_train, y_train) and to validate with (X_valid, y_valid), and the institution's number.
    Other tasks have another `shape` of images and number of `classes`, and masks for labels.

    Without a folder it only knows the shapes, which is all that `fx plan initialize` asks for.
    """

    def __init__(self, data_path: str | None = None, batch_size: int = 32, seed: int = 0, **kwargs) -> None:
        self.shape, self.classes = list(kwargs.pop("shape", SHAPE)), kwargs.pop("classes", CLASSES)
        super().__init__(batch_size, **kwargs)
        self.seed, self.round, self.epoch = seed, 1, 0
        if data_path is None:
            return
        # Arrays only: an npz file that holds Python objects is refused, since reading those runs code.
        with np.load(Path(data_path) / "images.npz", allow_pickle=False) as file:
            self.X_train, self.y_train = file["X_train"], file["y_train"]
            self.X_valid, self.y_valid = file["X_valid"], file["y_valid"]
            self.institution = int(file["institution"])

    def get_feature_shape(self) -> list[int]:
        return self.shape

    def get_num_classes(self) -> int:
        return self.classes

    def begin(self, number: int) -> None:
        """A round begins; rounds count from 1."""
        self.round, self.epoch = number, 0

    def get_train_loader(self, batch_size: int | None = None, num_batches: int | None = None) -> Iterator:
        """Batches of the next epoch of the round, in the order in which the workshop's own run reads them; OpenFL's
        loader would draw another one each time."""
        count, batch = len(self.X_train), batch_size or self.batch_size
        stream = np.random.RandomState([READ, self.seed, self.round, self.institution, self.epoch])
        order = stream.permutation(count)
        self.epoch += 1
        most = -(-count // batch) if num_batches is None else num_batches
        return self._batch_generator(self.X_train, self.y_train, order, batch, most)
