"""Data-parallel training of Keras models over the ranks of a run.

`exchange` moves gradients and weights between ranks; `optimizer` puts an exchange under any Keras optimizer;
`training_run` is the life of a training run; `loop` takes its steps, `step_report` and `report` tell of them;
`batches`, `rates`, `measure` and `trace` are its arithmetic, without TensorFlow.
"""
