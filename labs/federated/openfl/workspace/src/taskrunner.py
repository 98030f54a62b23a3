"""What a collaborator does when the aggregator gives it a task: OpenFL's Keras runner, with our network."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
from openfl.federated import KerasTaskRunner
from openfl.utilities import Metric

from src.network import build


class Digits(KerasTaskRunner):
    """Trains by plain gradient descent. Initial weights are those of the file `initial` (npz, by name), if it is there,
    else they are drawn from `seed`."""

    def __init__(self, network: str = "cnn", rate: float = 0.1, seed: int = 0, initial: str = "", **kwargs) -> None:
        super().__init__(**kwargs)
        keras.utils.set_random_seed(seed)
        self.model = self.compiled(network, rate)
        if initial and Path(initial).is_file():
            with np.load(initial, allow_pickle=False) as file:
                self.set_tensor_dict({name: file[name] for name in file.files}, with_opt_vars=False)
        self._epochs: list[list[Metric]] = []
        self.initialize_tensorkeys_for_functions()

    def compiled(self, network: str, rate: float) -> keras.Model:
        """The network with its loss, its metrics and its optimizer."""
        model = build(network)
        model.compile(
            optimizer=keras.optimizers.SGD(rate),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            jit_compile=False,  # compiling would take longer than all of the training
        )
        return model

    def rebuild_model(self, round_num: int, input_tensor_dict: dict, validation: bool = False) -> None:
        """Put in the weights of a round, which OpenFL counts from 0."""
        super().rebuild_model(round_num, input_tensor_dict, validation)
        if not validation:
            self.data_loader.begin(round_num + 1)
            self._epochs = []

    def train_(self, batch_generator, metrics: list | None = None, **kwargs) -> list[Metric]:
        """One epoch. What is reported are means over all epochs of the round so far, not of the last one alone."""
        self._epochs.append(super().train_(batch_generator, metrics, **kwargs))
        return [
            Metric(name=same[0].name, value=np.mean([metric.value for metric in same]))
            for same in zip(*self._epochs, strict=True)
        ]
