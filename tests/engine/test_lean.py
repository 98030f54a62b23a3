"""TensorFlow without scikit-learn and pandas, which work all the same once somebody wants them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, sys
from workshop.engine.tensorflow import tensorflow
tensorflow()
def there():
    return sorted({"pandas", "sklearn"} & set(sys.modules))
import keras, numpy as np
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros((4, 2)), np.zeros(4), verbose=0)
[hasattr(module, "__file__") for module in list(sys.modules.values())]
from keras.src.trainers.data_adapters.array_slicing import can_slice_array
lean, sliced = there(), [can_slice_array([1.0])]
import pandas
table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
model.fit(table, np.zeros(2), verbose=0)
sliced += [can_slice_array(table), can_slice_array(table["a"])]
regressor = keras.wrappers.SKLearnRegressor(model)
from sklearn.base import is_regressor
from sklearn.datasets import load_digits
digits = len(load_digits().target)
print(json.dumps([lean, sliced, is_regressor(regressor), digits, there(), hasattr(pandas, "read_csv")]))
"""


@pytest.mark.real
def test_keras_takes_along_only_what_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == [[], [False, True, True], True, 1797, ["pandas", "sklearn"], True]
