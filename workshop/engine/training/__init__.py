"""Data-parallel training of Keras models over the ranks of a run.

`exchange` moves gradients and weights between ranks; `optimizer` puts an exchange under any Keras optimizer; `running`
is the life of a training run, whatever it trains; `loop` takes its steps, `telling` and `report` tell of them;
`batches`, `rates`, `measure` and `trace` are its arithmetic, without TensorFlow.
"""
