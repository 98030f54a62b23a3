"""What kind of file system a folder is on, from Linux's /proc."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

# Processes on them don't share memory-mapped pages or locks reliably, which SQLite's write-ahead log lives on.
NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|lustre|gpfs|beegfs\w*|ceph|glusterfs|afs|ncpfs|9p|panfs|pvfs2|orangefs|wekafs|davfs"
    r"|fuse\.(sshfs|glusterfs|ceph\w*|s3fs|rclone|davfs2?|cernvmfs|beegfs\w*|gvfs\w*|juicefs|gcsfuse)"
)


def network_filesystem(path: Path | str, mounts: Path = MOUNTS) -> str | None:
    """The type of the network file system that `path` is on (or will be, once made); None for a local one.

    Where the kernel tells nothing the folder counts as local.
    """
    place = Path(path).expanduser().resolve()
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    best, kind = -1, ""
    for line in lines:
        # Fields as in proc(5): the mount point is the fifth, the type comes first behind " - ".
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # Of two mounts on one point the later hides the earlier.
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return kind if NETWORK.fullmatch(kind) else None
