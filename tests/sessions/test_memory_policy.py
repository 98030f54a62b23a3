"""When ranks have too much memory, and how that is said."""

from __future__ import annotations

from workshop.core.memory import MemoryUsage
from workshop.sessions import memory_monitor
from workshop.sessions.channel import HostMemory

GIB = 2**30
ROOMY = MemoryUsage(32 * GIB, 20 * GIB)
FULL = MemoryUsage(16 * GIB, GIB // 2)


def test_a_machine_that_has_no_memory_left() -> None:
    found = memory_monitor.judge("laptop", {0: 4 * GIB, 1: 8 * GIB}, [FULL], None)
    assert found is not None
    assert (found.rank, found.host) == (1, "laptop")
    assert found.words == (
        "the memory of laptop ran out: rank 1 had most, 8.00 GiB, and all 2 together 12.0 GiB of 16.0 GiB; "
        "take fewer ranks, a smaller batch or a smaller size"
    )
    alone = memory_monitor.judge("laptop", {0: 12 * GIB}, [FULL], None)
    assert alone is not None
    assert alone.words == (
        "the memory of laptop ran out: rank 0, the only one, had 12.0 GiB of 16.0 GiB; "
        "take a smaller batch or a smaller size"
    )


def test_a_control_group_counts_where_it_is_tighter() -> None:
    group = MemoryUsage(2 * GIB, GIB // 100, group=True)
    found = memory_monitor.judge("laptop", {0: GIB, 1: GIB // 2}, [ROOMY, group], None)
    assert (
        found is not None
        and "that laptop allows this session (the limit of its container or job) ran out" in found.words
    )
    assert "all 2 together 1.50 GiB of 2.00 GiB" in found.words
    assert memory_monitor.judge("laptop", {0: GIB}, [ROOMY, MemoryUsage(2 * GIB, GIB, group=True)], None) is None


def test_a_limit_of_ones_own() -> None:
    held = {0: 300 << 20, 1: 400 << 20}
    assert memory_monitor.judge("laptop", held, [ROOMY], 701 << 20) is None
    found = memory_monitor.judge("laptop", held, [ROOMY], 699 << 20)
    assert found is not None
    assert found.words == (
        "the ranks took more memory than WORKSHOP_MEMORY allows: rank 1 had most, 400 MiB, and all 2 together 700 MiB "
        "of 699 MiB; take fewer ranks, a smaller batch or a smaller size, or set it higher"
    )


def test_of_two_sessions_the_larger_one_gives_way() -> None:
    """Both see the same machine."""
    machine = MemoryUsage(100 * GIB, 3 * GIB)
    larger, smaller = {0: 60 * GIB}, {0: 30 * GIB}
    assert memory_monitor.judge("laptop", larger, [machine], None) is not None
    assert memory_monitor.judge("laptop", smaller, [machine], None) is None
    found = memory_monitor.judge("laptop", smaller, [MemoryUsage(100 * GIB, GIB)], None)
    assert found is not None and "of which other programs had 69.0 GiB; end some of those, or take a" in found.words


def test_hosts_elsewhere() -> None:
    hosts = {
        "hostA": HostMemory(20 * GIB, 32 * GIB, {0: GIB}),
        "hostB": HostMemory(GIB // 2, 16 * GIB, {1: 4 * GIB, 2: 9 * GIB}),
    }
    found = memory_monitor.elsewhere(hosts, "hostA")
    assert found is not None and (found.host, found.rank) == ("hostB", 2)
    assert found.words.startswith("the memory of hostB ran out: rank 2 had most, 9.00 GiB, and all 2 together 13.0 GiB")
    assert memory_monitor.elsewhere(hosts, "hostB") is None, "this host is looked at directly"
    assert memory_monitor.elsewhere({}, "hostA") is None
