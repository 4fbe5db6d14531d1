"""What kind of disk a folder is on."""

from __future__ import annotations

import os
from pathlib import Path

_NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "afs", "9p", "panfs"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.gcsfuse", "orangefs", "pvfs2", "weka", "wekafs"),
}


def on_network(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether the folder is on a file system that several machines share, where memory maps are not safe to share."""
    return file_system(folder, mounts) in _NETWORK


def file_system(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of file system that the folder is on; None where the system does not tell."""
    try:
        rows = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return None
    place = os.path.realpath(folder)
    # The longest mount point that the folder is under; of several on one point, the last hides the others.
    under = [(len(row[1]), k, row[2]) for k, row in enumerate(rows) if len(row) > 2 and _within(place, _plain(row[1]))]
    return max(under)[2] if under else None


def _within(place: str, point: str) -> bool:
    return place == point or place.startswith(point.rstrip("/") + "/")


def _plain(point: str) -> str:
    return point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
