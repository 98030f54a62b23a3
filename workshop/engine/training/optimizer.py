"""Any Keras optimizer, made to work on the gradients of all ranks."""

from __future__ import annotations

from typing import Any

from workshop.engine.training.exchange import Exchange


def distribute(optimizer: Any, exchange: Exchange) -> Any:
    """An optimizer of the same kind and settings that exchanges gradients before it applies them, also in `model.fit`.

    Horovod's own wrapper overrides a method that Keras 3 doesn't call; `apply` is the one that everything goes through.
    """
    kind = type(optimizer)

    class Distributed(kind):  # type: ignore[valid-type, misc]  # Keras has no types; which class it is shows here
        def apply(self, grads: Any, trainable_variables: Any = None) -> None:
            variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)
            if not self.built:
                self.build(variables)
            exchange.apply(list(grads), variables, lambda averaged: kind.apply(self, averaged, variables))

    Distributed.__name__ = kind.__name__  # what it is called in a saved configuration
    return Distributed.from_config(optimizer.get_config())
