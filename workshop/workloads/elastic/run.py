"""The workload: the loop of a rank that trains, survives the loss of others, and takes new ones in."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from mpi4py import MPI

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.engine.context import RankContext
from workshop.engine.data import order
from workshop.engine.training import checkpoint
from workshop.engine.training.checkpoint_writer import CheckpointWriter, totals
from workshop.engine.training.training_run import digest
from workshop.workloads.elastic import ElasticParams, network
from workshop.workloads.elastic.communicator import Membership, RankLost, check_tolerance
from workshop.workloads.elastic.kills import Kill, draw_kill, parse_kills, random_mean
from workshop.workloads.elastic.network import ElasticNetwork
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.heldout import MnistHeldOut, as_inputs

ATTEMPT, RESTART = "restart/attempt.json", f"restart/{checkpoint.NAME}"  # inputs of a run that is started again
VAIN = 3  # recoveries without a loss that may follow each other
WARM = 8  # examples of the computation that compiles


def run(ctx: RankContext, params: ElasticParams) -> Mapping[str, Any]:
    """Train on all ranks, and go on after losses. Collective.

    Events of each step: `loss`, `accuracy`, `ranks` and `total images/s` by the first rank of those that are there,
    `images` and `time.*` by every rank; at the end `held-out accuracy`. Artifact: checkpoint.npz. Raises BadInput where
    the MPI can't survive a loss, and for a restart without a session.
    """
    if params.on_failure in ("shrink", "grow"):
        check_tolerance(ctx.comm, params.on_failure)
    elif params.on_failure == "restart" and ctx.run is None:
        raise BadInput(
            "on_failure is restart, for which a session has to start new ranks; take workshop run, or shrink or grow "
            "without a session."
        )
    ctx.activity("preparing images and network")
    training = ElasticTraining(params, ctx.inputs, ctx.size)
    tolerant = params.on_failure in ("shrink", "grow") and ctx.size > 1
    return training.run(ctx, Membership(ctx.comm, ctx.rank, tolerant, range(ctx.size)))


@dataclass
class ElasticProgress:
    """How far all members together have come: the same on each, and sent to those that are behind. `spans` are what the
    whole steps of this epoch have read, `reads` what each epoch before has read."""

    epoch: int = 0
    update: int = 0  # whole steps
    began: int = 0  # of them, those of attempts before this one
    cursor: int = 0
    spans: list[network.Span] = field(default_factory=list)
    reads: list[dict[str, int]] = field(default_factory=list)
    losses: list[dict[str, Any]] = field(default_factory=list)
    joins: list[dict[str, Any]] = field(default_factory=list)
    repeated_steps: int = 0
    lost_steps: int = 0
    images: int = 0  # read since the first rank began
    seconds: float = 0.0  # of training


class ElasticTraining:
    """One rank's network, images and progress. It is prepared without other ranks, so that a new one can prepare itself
    while the others train."""

    def __init__(self, params: ElasticParams, inputs: Mapping[str, bytes], ranks_at_start: int) -> None:
        began = time.perf_counter()
        self.params, self.inputs, self.ranks_at_start = params, inputs, ranks_at_start
        self.images = images.read(inputs)
        self.count = min(params.images or len(self.images.train_labels), len(self.images.train_labels))
        self.network = ElasticNetwork(params)
        self.network.warm_up(*self._examples(np.arange(min(WARM, self.count))))
        self.progress = ElasticProgress()
        self.kills = set(parse_kills(params.kill))
        self.random = random_mean(params.kill)  # steps between two random kills
        self.stopped = False
        self.loss = math.nan  # mean of the last step
        self._order: tuple[int, Any] = (-1, None)  # epoch, its permutation
        self._under_way = self._repeats = False
        self._whole_at = self._lost_at = time.perf_counter()
        self._resumed_at = 0  # update behind which members were last lost
        self._vain = 0  # recoveries in a row that have found nobody lost
        self._spawned: tuple[float, float] | None = None  # when new ranks were started, and how long all waited then
        self._restart()
        self.prepare_seconds = time.perf_counter() - began

    def _restart(self) -> None:
        """Begin where an earlier attempt of this run has kept a checkpoint. Raises BadInput for a damaged one."""
        attempt = json.loads(self.inputs[ATTEMPT]) if ATTEMPT in self.inputs else {"failures": []}
        if RESTART in self.inputs:
            self._restore(checkpoint.unpack(self.inputs[RESTART], RESTART))
        progress, failures = self.progress, attempt["failures"]
        done = parse_kills(self.params.kill)[: len(failures)]
        self.kills -= set(done)
        for number in range(len(progress.losses), len(failures)):
            failure = failures[number]
            planned = (self._random_kill(number, progress.began),) if self.random else done
            # Attempts that have kept nothing began where this one does.
            progress.began = progress.update
            step = next((kill.step for kill in planned if kill.rank == failure["rank"]), None)
            lost = None if step is None else max(step - 1 - progress.update, 0)
            progress.losses.append(
                {"rank": failure["rank"], "step": step, "at": failure["at"], "lost_steps": lost,
                 "ranks": list(range(self.ranks_at_start)), "next_step_seconds": None}
            )  # fmt: skip
            progress.lost_steps += lost or 0
        if self.random:
            self.kills = {self._random_kill(len(failures), progress.update)}

    def _random_kill(self, number: int, update: int) -> Kill:
        """The random kill of an attempt that began behind so many updates."""
        assert self.random is not None, "kills are random"
        return draw_kill(self.random, self.params.seed, number, update, self.ranks_at_start)

    def run(self, ctx: RankContext, membership: Membership) -> dict[str, Any]:
        """Train until the end, whoever is lost on the way; returns the metrics. Collective. Raises WorkshopError where
        a loss isn't to be survived."""
        self.ctx, self.membership = ctx, membership
        ctx.publish(data=self.images.words, train_images=self.count, on_failure=self.params.on_failure)
        ctx.activity("training")
        self._whole_at = time.perf_counter()
        with CheckpointWriter(ctx) as self.writer:
            metrics = self._train()
        membership.dismiss()
        return metrics

    def _train(self) -> dict[str, Any]:
        """Take all steps and evaluate, again where a member is lost; returns the metrics. Collective."""
        membership = self.membership
        while True:
            try:
                self._advance()
                metrics = self._finish()
                membership.agree()
                return metrics
            except MPI.Exception as error:
                if not membership.tolerant:
                    raise WorkshopError(
                        f"A rank was lost in step {self.progress.update + 1}, and on_failure is "
                        f"{self.params.on_failure}; choose shrink or grow to go on without it."
                    ) from error
                membership.give_up()
            except RankLost:
                pass
            self._recover()

    def join(self, ctx: RankContext, membership: Membership) -> dict[str, Any]:
        """Become a member, then train like the others. Collective."""
        self.ctx, self.membership = ctx, membership
        self.progress.update = -1  # behind everybody
        try:
            membership.settle(self._catch_up)
        except RankLost:
            membership.recover(self._catch_up)
        ctx.adopt(membership.comm, membership.numbers)
        return self.run(ctx, membership)

    def _advance(self) -> None:
        """Take all steps that remain. Raises MPI's error or RankLost where a member is lost."""
        progress, params = self.progress, self.params
        while progress.epoch < params.epochs and not self.stopped:
            if progress.cursor >= self.count:
                progress.reads.append(network.count_reads(progress.epoch, self._permutation(), progress.spans))
                progress.epoch, progress.cursor, progress.spans = progress.epoch + 1, 0, []
            elif progress.cursor == 0 and self.membership.preparing and self._grow():
                continue
            elif self._wants_ranks():
                self._spawn()
            else:
                self._step()

    def _step(self) -> None:
        """One step of all members. It is whole on a rank once that rank has applied the update."""
        ctx, progress, params = self.ctx, self.progress, self.params
        began = time.perf_counter()
        if (self.membership.number, progress.update + 1) in self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        self._under_way = True
        span = progress.cursor, min(progress.cursor + params.batch * ctx.size, self.count)  # fewer at an epoch's end
        total = span[1] - span[0]
        with ctx.phase("input"):
            begin, end = network.part(span, ctx.size, ctx.rank)
            examples = self._examples(self._permutation()[begin:end])
        with ctx.phase("compute"):
            vector = self.network.gradients(*examples, 1 / total)
        vector[-1] = ctx.stop_heard()
        with ctx.phase("communicate"):
            ctx.comm.Allreduce(MPI.IN_PLACE, vector)
        loss, right, read, stop = (float(value) for value in vector[-4:])
        if read != total:
            # When a host is lost, Open MPI may end an all-reduce without an error and without the others' parts.
            raise MPI.Exception(MPI.ERR_PROC_FAILED)
        with ctx.phase("compute"):
            self.network.update(vector, params.rate * ctx.size)  # in proportion to the batch of all ranks
        self._under_way = False
        progress.update += 1
        progress.cursor = span[1]
        progress.spans.append(span)
        progress.images += total
        self.loss, self.stopped = loss / total, stop > 0
        time.sleep(max(params.pace - (time.perf_counter() - began), 0))
        self._tell(right / total, end - begin, total)

    def _tell(self, accuracy: float, examples: int, total: int) -> None:
        """Tell a whole step, and how long it took to come after a loss."""
        ctx, progress, now = self.ctx, self.progress, time.perf_counter()
        seconds, self._whole_at = now - self._whole_at, now
        progress.seconds += seconds
        ctx.emit("images", examples, progress.update)
        ctx.end_step(progress.update)
        if ctx.rank == 0:
            for name, value in (
                ("loss", self.loss), ("accuracy", accuracy), ("ranks", ctx.size), ("total images/s", total / seconds),
            ):  # fmt: skip
                ctx.emit(name, value, progress.update)
        waiting = [loss for loss in progress.losses if loss["next_step_seconds"] is None]
        for loss in waiting:
            earlier = loss.get("noticed_seconds") is None  # an attempt before this one
            loss["next_step_seconds"] = time.time() - loss["at"] if earlier else now - self._lost_at
        if waiting:
            ctx.publish(losses=progress.losses)
        done = progress.update
        batch, epochs = self.params.batch * ctx.size, self.params.epochs - progress.epoch - 1
        remaining = network.steps_from(progress.cursor, self.count, batch, epochs)
        ctx.progress(done, done + remaining)
        if self.params.checkpoint_every and done % self.params.checkpoint_every == 0 and ctx.rank == 0:
            self.writer.save(lambda: self.network.capture(asdict(progress)))

    def _recover(self) -> None:
        """Go on without the lost ranks, from the same state on all members, and tell the loss."""
        noticed, before = time.perf_counter(), self.membership.numbers
        self._lost_at = self._whole_at  # of the last whole step here
        self.membership.recover(self._catch_up)
        self.ctx.adopt(self.membership.comm, self.membership.numbers)
        progress, numbers = self.progress, self.membership.numbers
        repaired = time.perf_counter()
        lost = sorted(set(before) - set(numbers))
        self._vain = 0 if lost else self._vain + 1
        if self._vain > VAIN:
            raise WorkshopError(f"Step {progress.update + 1} failed {self._vain} times, though no rank was lost.")
        self._resumed_at, self._under_way = progress.update, False
        if lost:
            self._spawned = None
        progress.repeated_steps += self._repeats
        progress.losses += [
            {
                "rank": rank,
                "step": progress.update + self._repeats,
                "at": time.time() - (repaired - noticed),
                "noticed_seconds": noticed - self._lost_at,
                "repair_seconds": repaired - noticed,
                "next_step_seconds": None,
                "ranks": list(numbers),
            }
            for rank in lost
        ]
        if lost:
            self.ctx.publish(losses=progress.losses)
            gone = f"{words.numbered('rank', lost)} {words.verb(len(lost))} gone"
            go = f"{words.numbered('rank', numbers)} {words.verb(len(numbers), 'goes', 'go')} on"
            self.ctx.activity(f"{gone}; {go}")

    def _catch_up(self, comm: Any) -> None:
        """Give all the state of the rank with the most whole steps. Collective."""
        steps = comm.allgather((self.progress.update, self._under_way))
        most = max(steps)[0]
        self._repeats = (most, True) in steps
        if min(steps)[0] < most:
            source = next(rank for rank, (update, _) in enumerate(steps) if update == most)
            packed = self.network.capture(asdict(self.progress)).pack() if comm.rank == source else None
            state = comm.bcast(packed, root=source)
            if self.progress.update < most:
                self._restore(checkpoint.unpack(state))

    def _wants_ranks(self) -> bool:
        """Whether to start new ranks now: once, after the first whole step behind a loss, and if an epoch follows in
        which they can take part."""
        progress = self.progress
        return (
            self.params.on_failure == "grow"
            and self._spawned is None
            and len(self.membership.numbers) < self.ranks_at_start
            and progress.update > self._resumed_at
            and progress.epoch + 1 < self.params.epochs
        )

    def _spawn(self) -> None:
        began = time.perf_counter()
        missing = sorted(set(range(self.ranks_at_start)) - set(self.membership.numbers))
        message = {
            "params": self.params.model_dump(),
            "inputs": dict(self.inputs),
            "ranks": self.ranks_at_start,
            "run": self.ctx.run,
            "lives": [*range(self.ranks_at_start), *(join["rank"] for join in self.progress.joins)],
        }
        self.ctx.activity(f"starting a process for {words.numbered('rank', missing)}")
        self._spawned = began, 0.0  # also where it fails: then it isn't tried again
        self.membership.spawn(missing, message)
        self._spawned = began, time.perf_counter() - began
        self.ctx.activity(f"training, while {words.numbered('rank', missing)} prepares")

    def _grow(self) -> bool:
        """Take the new ranks in if they are ready. Returns whether they are here."""
        missing, began = self.membership.preparing, time.perf_counter()
        if not self.membership.grow(self._catch_up):
            return False
        self.ctx.adopt(self.membership.comm, self.membership.numbers)
        assert self._spawned is not None, "new ranks were started"
        started, waited = self._spawned
        now = time.perf_counter()
        self.progress.joins += [
            {
                "rank": rank,
                "step": self.progress.update + 1,
                "seconds": now - started,
                "pause_seconds": waited + now - began,
                "ranks": list(self.membership.numbers),
            }
            for rank in missing
        ]
        self._spawned = None  # others may have been lost meanwhile
        self.ctx.publish(joins=self.progress.joins)
        self.ctx.activity(f"{words.numbered('rank', missing)} joined; {self.ctx.size} ranks go on")
        return True

    def _finish(self) -> dict[str, Any]:
        """The network's results, on all members. Collective."""
        ctx, progress = self.ctx, self.progress
        began = time.perf_counter()
        score = MnistHeldOut(ctx.comm, self.images, self.network.model, self.network.loss).score()
        weights = ctx.comm.allgather(digest(self.network.model.trainable_variables))
        if ctx.rank == 0:
            ctx.emit("held-out accuracy", score.accuracy, progress.update)
        self.writer.flush()
        written = totals(self.writer, self.params.checkpoint_every)
        after = [loss["next_step_seconds"] for loss in progress.losses if loss["next_step_seconds"] is not None]
        return {
            "on_failure": self.params.on_failure,
            "ranks": list(self.membership.numbers),
            "losses": progress.losses,
            "joins": progress.joins,
            "next_step_seconds": max(after, default=None),
            "lost_steps": progress.lost_steps,
            "kept_share": progress.update / max(progress.update + progress.lost_steps, 1),
            "repeated_steps": progress.repeated_steps,
            **({"checkpoints": written} if written else {}),
            "examples_read": progress.reads,
            "exactly_once": all(epoch["read"] == epoch["distinct"] == self.count for epoch in progress.reads),
            "updates": progress.update,
            "stopped": self.stopped,
            "loss": self.loss,
            "diverged": not math.isfinite(self.loss),
            "held_out_accuracy": score.accuracy,
            "held_out_loss": score.loss,
            "held_out_images": len(self.images.held_out_labels),
            "train_images": self.count,
            "data": self.images.words,
            "images_read": progress.images,
            "images_per_second": progress.images / progress.seconds if progress.seconds else None,
            "weights": weights,
            "same_weights": len(set(weights)) == 1,
            "seconds": {
                "prepare": self.prepare_seconds,
                "train": progress.seconds,
                "evaluate": time.perf_counter() - began,
            },
        }

    def _examples(self, numbers: Any) -> tuple[Any, Any]:
        """Images, float32 [n, 28, 28, 1], and labels, int32 [n], of examples by number."""
        return as_inputs(self.images.train_images[numbers]), self.images.train_labels[numbers].astype(np.int32)

    def _permutation(self) -> Any:
        if self._order[0] != self.progress.epoch:
            epoch = self.progress.epoch
            self._order = epoch, order(self.count, [self.params.seed, epoch])
        return self._order[1]

    def _restore(self, saved: checkpoint.Checkpoint) -> None:
        self.network.restore(saved)
        self.progress = ElasticProgress(**saved.progress)
        self.progress.spans = [(begin, end) for begin, end in self.progress.spans]
