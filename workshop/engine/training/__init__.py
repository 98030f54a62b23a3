"""Data-parallel training of Keras models over the ranks of a run.

`exchange` moves gradients and weights between ranks; `optimizer` puts an exchange under any Keras optimizer; `loop`
takes the steps and tells of them; `batches`, `rates`, `measure` and `trace` are its arithmetic, without TensorFlow.
"""
