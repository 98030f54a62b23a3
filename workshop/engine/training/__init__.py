"""Data-parallel training of Keras models over the ranks of a run.

`exchange` moves gradients and weights between ranks, over MPI in `mpi_exchanges` or over Horovod in
`horovod_exchange`, as they are or shorter by `compression`; `exchanges` chooses; `optimizer` puts an exchange under any
Keras optimizer and has its learning rate; `training_run` is the life of a training run and its report; `loop` takes its
steps, `step_report` tells of them; `batches`, `step_report` and `trace` are its arithmetic, without TensorFlow.
`checkpoint` is the file that a run goes on from and says how often it is written, `checkpoint_writer` writes it beside
the training.
"""

# What the metrics of training are called, see `workshop.extension.Workload`.
METRICS = {
    "bytes_exchanged": "sent in all",
    "bytes_per_step": "sent per step",
    "data": "images from",
    "distinct_images": "different images",
    "diverged": "training diverged",
    "exchange": "exchange of gradients",
    "exchange_why": "reason for this exchange",
    "first_loss": "training loss of the first step",
    "gradient_bytes": "size of a step's gradients [B]",
    "held_out_accuracy": "held-out accuracy",
    "held_out_images": "held-out images",
    "held_out_loss": "held-out loss",
    "highest_loss": "highest training loss of a step",
    "hidden": "share of the exchange during the computation [%]",
    "horovod.version": "version of Horovod",
    "images_per_second": "throughput [images/s]",
    "images_per_second_deviation": "deviation of the throughput [images/s]",
    "images_per_second_jitter": "deviation of the throughput from step to step [images/s]",
    "images_read": "images read by all ranks",
    "learning_rate": "learning rate of all ranks together",
    "loss": "training loss",
    "measured_steps": "measured steps",
    "messages_per_step": "messages per step",
    "mpi_seconds": "one exchange of the same gradients with mpi4py [s]",
    "parameters": "weights of the network",
    "seconds.checkpoint": "time of keeping checkpoints",
    "seconds.earlier": "training in earlier runs [s]",
    "seconds.evaluate": "time of evaluating held-out images",
    "seconds.prepare": "time of preparing data and network",
    "seconds.train": "time of training",
    "spread": "difference of weights between ranks",
    "spread_before": "difference of weights at the start",
    "stopped": "stopped early",
    "target": "target accuracy",
    "telling_share": "time spent on measuring",
    "threads_seconds": "time spent on counting threads [s]",
    "time_to_target": "training until the target",
    "train_images": "images to train on",
    "updates": "updates of the weights",
}

# The metrics of workloads that write checkpoints, see `checkpoint_writer.totals`.
CHECKPOINTS = {
    "checkpoints.bytes": "size of all checkpoints",
    "checkpoints.differ": "checkpoints of the ranks differ",
    "checkpoints.interval_steps": "steps between checkpoints",
    "checkpoints.kept": "checkpoints, those of several ranks counted once",
    "checkpoints.left_out": "checkpoints left out, as others waited",
    "checkpoints.seconds_blocked": "training stopped for checkpoints [s]",
    "checkpoints.seconds_processor": "processor time of writing checkpoints [s]",
    "checkpoints.seconds_writing": "time of writing checkpoints beside the training [s]",
    "checkpoints.written": "checkpoints written",
}
