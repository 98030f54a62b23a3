"""Wrong answers that people give to the exercises on placement, and a piece of the hint that each gets."""

from workshop.course.exercise_checks import Mistake

MISTAKES = {
    "socket_each": [
        Mistake(
            "counts the sockets of one host",
            code="""def socket_each(names, sockets, cores):
    hosts = [{"name": name, "slots": sockets} for name in names]
    return {"hosts": hosts, "ranks": sockets, "map_by": "package", "per_resource": 1, "cores_per_rank": cores}
""",
            hint="sockets of all hosts",
        ),
        Mistake(
            "forgets the slots",
            code="""def socket_each(names, sockets, cores):
    hosts = [{"name": name} for name in names]
    ranks = len(names) * sockets
    return {"hosts": hosts, "ranks": ranks, "map_by": "package", "per_resource": 1, "cores_per_rank": cores}
""",
            hint="slots",
        ),
        Mistake(
            "forgets how wide a rank is",
            code="""def socket_each(names, sockets, cores):
    hosts = [{"name": name, "slots": sockets} for name in names]
    return {"hosts": hosts, "ranks": len(names) * sockets, "map_by": "package", "per_resource": 1}
""",
            hint="how wide",
        ),
        Mistake(
            "two ranks to a node, from its first core on",
            code="""def socket_each(names, sockets, cores):
    hosts = [{"name": name, "slots": sockets} for name in names]
    ranks = len(names) * sockets
    return {"hosts": hosts, "ranks": ranks, "map_by": "node", "per_resource": sockets, "cores_per_rank": cores // 2}
""",
            hint="same socket",
        ),
        Mistake(
            "doesn't bind",
            code="""def socket_each(names, sockets, cores):
    hosts = [{"name": name, "slots": sockets} for name in names]
    return {"hosts": hosts, "ranks": len(names) * sockets, "map_by": "package", "bind_to": "none"}
""",
            hint="bind_to",
        ),
        Mistake(
            "forgets the hosts",
            code="""def socket_each(names, sockets, cores):
    return {"ranks": sockets, "map_by": "package", "per_resource": 1, "cores_per_rank": cores}
""",
            hint="names no hosts",
        ),
    ],
    "cores_of": [
        Mistake(
            "takes a range's ends alone",
            code="""import re


def cores_of(report):
    found = {}
    for line in report.splitlines():
        if rank := re.search(r"Rank (\\d+) (?:is not )?bound", line):
            lists = re.findall(r"core:L([0-9,-]+)", line)
            found[int(rank[1])] = {int(n) for one in lists for n in re.findall(r"\\d+", one)} or None
    return found
""",
            hint="from its first to its last",
        ),
        Mistake(
            "leaves out a range's last core",
            code="""import re


def cores_of(report):
    found = {}
    for line in report.splitlines():
        if rank := re.search(r"Rank (\\d+) (?:is not )?bound", line):
            cores = set()
            for one in re.findall(r"core:L([0-9,-]+)", line):
                for piece in one.split(","):
                    first, dash, last = piece.partition("-")
                    cores |= set(range(int(first), int(last))) if dash else {int(first)}
            found[int(rank[1])] = cores or None
    return found
""",
            hint="last core of a range",
        ),
        Mistake(
            "reads the package",
            code="""import re


def cores_of(report):
    found = {}
    for line in report.splitlines():
        if rank := re.search(r"Rank (\\d+) (?:is not )?bound", line):
            found[int(rank[1])] = {int(n) for n in re.findall(r"package.(\\d+)", line)} or None
    return found
""",
            hint="number of the package",
        ),
        Mistake(
            "leaves out who isn't bound",
            code="""import re


def cores_of(report):
    found = {}
    for line in report.splitlines():
        if rank := re.search(r"Rank (\\d+) bound", line):
            cores = set()
            for one in re.findall(r"core:L([0-9,-]+)", line):
                for piece in one.split(","):
                    first, _, last = piece.partition("-")
                    cores |= set(range(int(first), int(last or first) + 1))
            found[int(rank[1])] = cores
    return found
""",
            hint="should be there with None",
        ),
        Mistake(
            "knows no commas",
            code="""import re


def cores_of(report):
    found = {}
    for line in report.splitlines():
        if rank := re.search(r"Rank (\\d+) (?:is not )?bound", line):
            cores = set()
            for one in re.findall(r"core:L([0-9,-]+)", line):
                first, _, last = one.partition("-")
                cores |= set(range(int(first), int(last or first) + 1))
            found[int(rank[1])] = cores or None
    return found
""",
            hint="a comma parts",
        ),
    ],
    "threads_per_rank": [
        Mistake(
            "shares out all cores of the host",
            code="""def threads_per_rank(sockets, cores, hardware, ranks):
    return max(sockets * cores // ranks, 1)
""",
            hint="two sockets",
        ),
        Mistake(
            "counts hardware threads",
            code="""def threads_per_rank(sockets, cores, hardware, ranks):
    fullest = -(-ranks // sockets)
    return max(cores * hardware // fullest, 1)
""",
            hint="hardware threads",
        ),
        Mistake(
            "gives nobody a thread",
            code="""def threads_per_rank(sockets, cores, hardware, ranks):
    return cores // -(-ranks // sockets)
""",
            hint="one thread at least",
        ),
        Mistake(
            "forgets that there are several sockets",
            code="""def threads_per_rank(sockets, cores, hardware, ranks):
    return max(cores // ranks, 1)
""",
            hint="There are 2 sockets",
        ),
        Mistake(
            "divides into fractions",
            code="""def threads_per_rank(sockets, cores, hardware, ranks):
    return sockets * cores / ranks
""",
            hint="come whole",
        ),
    ],
    "mended": [
        Mistake(
            "takes a thread away",
            code='mended = {"ranks": 4, "threads": 1, "map_by": "core", "bind_to": "core"}\n',
            hint="needs its 2 threads",
        ),
        Mistake(
            "takes ranks away",
            code='mended = {"ranks": 2, "threads": 2, "map_by": "package", "cores_per_rank": 2}\n',
            hint="should keep them",
        ),
        Mistake(
            "lets go of the ranks",
            code='mended = {"ranks": 4, "threads": 2, "bind_to": "none"}\n',
            hint="both sockets",
        ),
        Mistake(
            "allows what isn't wanted",
            code='mended = {"ranks": 4, "threads": 2, "map_by": "core", "bind_to": "core", "oversubscribe": True}\n',
            hint="so they take turns",
        ),
    ],
}
