"""Findings of where ranks run: too many for the cores, too few, or nowhere in particular."""

from __future__ import annotations

from workshop.core import words
from workshop.core.placement import POLLING, USUAL_MPI
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.oversubscription import Oversubscription

CHATTY = 0.30  # share of moving data from which more ranks would only talk more
BIND = "--map-by core --bind-to core"


def oversubscribed(facts: Facts) -> Finding | None:
    """Ranks or threads that have to take turns."""
    if not facts.crowds:
        return None
    shares = words.listed(_crowd(crowd) for crowd in facts.crowds[:4])
    more = f", and {len(facts.crowds) - 4} more groups likewise" if len(facts.crowds) > 4 else ""
    why = f"{words.capital(shares)}{more}."
    if facts.withheld:
        why += f" {words.count(facts.withheld, 'other core')} may not be used here (taskset, a container, a batch job)."
    polls = _polls(facts)
    yielding = f"without {POLLING}=0"
    if _waiting(facts) == "poll":
        yielding = f"--mpi {USUAL_MPI}"
    if polls and facts.ranks > 1 and any(len(crowd.ranks) > 1 for crowd in facts.crowds):
        return Finding(
            "Ranks that wait keep their cores from those that work.",
            f"{why} {polls}",
            f"Try the same with ranks that yield while they wait ({yielding}), or {words.ranks(facts.fitting)}.",
        )
    if all(crowd.kind == "cores" for crowd in facts.crowds):
        return Finding(
            "Hardware threads share cores.",
            f"{why} Two hardware threads share the arithmetic of one core, which seldom makes two threads' worth.",
            f"Try {words.ranks(facts.fitting)}: one for each of the {facts.cores} cores."
            if facts.ranks > facts.fitting
            else f"Try a core for each rank ({BIND}): there are cores for all of them.",
        )
    if all(len(crowd.ranks) == 1 for crowd in facts.crowds):
        room = max(facts.cores // facts.ranks, 1)
        return Finding(
            "Oversubscribed: each rank has more threads than cores.",
            f"{why} Threads bound to the same core take turns on it.",
            f"Try {facts.threads} cores for each rank (--cores-per-rank {facts.threads}), so that each thread has one."
            if facts.threads <= room
            else f"Try {words.option(room, 'thread', '--threads')} for each rank.",
        )
    if facts.cores and facts.ranks * facts.threads <= facts.cores:
        return Finding(
            "Oversubscribed, although the machine has cores for all.",
            f"{why} The machine has {facts.cores} cores.",
            f"Try a core for each rank ({BIND}).",
        )
    threads = "" if facts.threads == 1 else f" × {words.count(facts.threads, 'thread')}"
    cores = f" on {words.count(facts.cores, 'core')}" if facts.cores and facts.hosts == 1 else ""
    single = "" if facts.threads == 1 else f" or {words.option(1, 'thread', '--threads')} for each"
    return Finding(
        f"Oversubscribed: {words.count(facts.ranks, 'rank')}{threads}{cores}.",
        f"{why} Ranks that share a hardware thread take turns, and every collective waits for the rank whose turn "
        "came last.",
        f"Try {words.ranks(facts.fitting)}{single}, and compare the two runs.",
    )


def _polls(facts: Facts) -> str:
    """Why waiting ranks don't yield; "" where they do."""
    placement = facts.run.placement
    if _waiting(facts) == "poll":
        title = IMPLEMENTATIONS[placement["mpi"]].title
        return f"{title}'s ranks poll: a rank that waits for a message asks for it again and again, and never yields."
    if _waiting(facts) == "variable" and (placement.get("environment") or {}).get(POLLING) == "0":
        return f"The ranks poll while they wait, since {POLLING} is 0."
    return ""


def _waiting(facts: Facts) -> str:
    """The behaviour of ranks that wait, see `Implementation.waiting`; "" where a run names no known MPI."""
    mpi = IMPLEMENTATIONS.get(facts.run.placement.get("mpi", ""))
    return mpi.waiting if mpi is not None else ""


def on_one_host(facts: Facts) -> Finding | None:
    """The run has several hosts, but all ranks are on the same host."""
    named = [host["name"] for host in facts.run.placement.get("hosts") or []]
    if len(named) < 2 or facts.ranks < 2 or facts.hosts != 1:
        return None
    used_host = str(facts.reports[0]["host"])
    # A host may call itself by less, or more, than the placement does.
    same = [name for name in named if name == used_host or name.partition(".")[0] == used_host.partition(".")[0]]
    others = [name for name in named if name not in same] if same else []
    empty = words.listed(others) if others else "the others"
    return Finding(
        f"All ranks are on {'the first' if named[0] in same else 'one'} host, {used_host}.",
        f"No rank is on {empty}: a host is filled up to its slots before the next one gets any, and {used_host} has "
        f"slots for all {facts.ranks} ranks.",
        "Try to deal the ranks out over the hosts (--map-by node), or give each host fewer slots.",
    )


def _crowd(crowd: Oversubscription) -> str:
    where = words.numbered("hardware thread", crowd.units)
    who = words.numbered("rank", crowd.ranks)
    if len(crowd.ranks) == 1:
        return f"{who} runs {crowd.threads} threads on {where}"
    are = "is" if len(crowd.units) == 1 else "are"
    threads = f", {crowd.threads} threads together" if crowd.threads > len(crowd.ranks) else ""
    if crowd.kind == "cores":
        return f"{where}, in {words.count(crowd.cores, 'core')}, {are} shared by {who}{threads}"
    return f"{where} {are} shared by {who}{threads}"


def idle(facts: Facts) -> Finding | None:
    """Cores that nobody could use."""
    times = facts.times
    if facts.hosts != 1 or not facts.cores or facts.busy >= facts.cores:
        return None
    if times is not None and times.exchange_share >= CHATTY:
        return None
    unused = facts.cores - facts.busy
    threads = "" if facts.threads == 1 else f" with {facts.threads} threads each"
    return Finding(
        "Half of the machine was idle." if 2 * unused == facts.cores else "Part of the machine was idle.",
        f"{words.count(facts.ranks, 'rank')}{threads} kept {facts.busy} of {facts.cores} cores busy.",
        f"Try {words.ranks(facts.fitting)}: how much faster is it?"
        if facts.fitting > facts.ranks
        else f"Try {words.ranks(facts.cores)} with {words.option(1, 'thread', '--threads')} each: one for every core.",
    )


def unbound(facts: Facts) -> Finding | None:
    """Ranks may run anywhere, although there are cores for all of them."""
    if not facts.bindable or facts.ranks < 2 or facts.hosts != 1 or facts.crowds:
        return None
    wandered = [
        report["rank"]
        for report in facts.reports
        if any(len(thread.get("units_seen") or []) > 1 for thread in report.get("threads") or [])
    ]
    movements = f"; threads of {words.numbered('rank', wandered)} were seen on several" if wandered else ""
    return Finding(
        "Unbound: nothing keeps the ranks in place.",
        f"Each of the {facts.ranks} ranks may run on all {len(facts.units)} hardware threads{movements}.",
        "Try to bind them (--bind-to core): a rank that stays on its core keeps its caches warm.",
    )
