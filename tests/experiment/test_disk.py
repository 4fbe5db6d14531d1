"""What kind of disk a folder is on: read from a table of mounts as the kernel writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seamripper.experiment._disk import file_system, on_network


@pytest.fixture
def mounts(tmp_path: Path) -> Callable[..., Path]:
    def write(**points: str) -> Path:
        path = tmp_path / "mounts"
        path.write_text("".join(f"device {point} {kind} rw 0 0\n" for kind, point in points.items()))
        return path

    return write


def test_the_longest_mount_point_above_a_folder_tells(mounts: Callable[..., Path]) -> None:
    table = mounts(ext4="/", nfs4="/nowhere/home", xfs="/nowhere/home/scratch")
    assert file_system(Path("/nowhere/home/me"), table) == "nfs4"
    assert file_system(Path("/nowhere/home"), table) == "nfs4"
    assert file_system(Path("/nowhere/home/scratch/me"), table) == "xfs"
    assert file_system(Path("/nowhere"), table) == "ext4"
    # A name that only begins like a mount point is not under it.
    assert file_system(Path("/nowhere/homes"), table) == "ext4"


def test_of_two_mounts_on_one_point_the_last_counts(mounts: Callable[..., Path]) -> None:
    assert file_system(Path("/nowhere/x"), mounts(autofs="/nowhere", nfs="/nowhere")) == "nfs"


def test_a_mount_point_with_spaces_and_backslashes(mounts: Callable[..., Path]) -> None:
    table = mounts(ext4="/", cifs=r"/nowhere/my\040disk\134040")
    assert file_system(Path(r"/nowhere/my disk\040/x"), table) == "cifs"


def test_a_link_is_followed(mounts: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert file_system(tmp_path / "link", mounts(ext4="/", lustre=tmp_path.resolve() / "there")) == "lustre"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "lustre", "gpfs", "beegfs", "ceph", "fuse.sshfs", "9p"])
def test_disks_that_machines_share(mounts: Callable[..., Path], kind: str) -> None:
    table = mounts(**{"ext4": "/", kind: "/nowhere/shared"})
    assert on_network(Path("/nowhere/shared/runs"), table)
    assert not on_network(Path("/nowhere/runs"), table)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs"])
def test_disks_of_one_machine(mounts: Callable[..., Path], kind: str) -> None:
    assert not on_network(Path("/nowhere"), mounts(**{kind: "/"}))


def test_where_the_system_does_not_tell_a_disk_counts_as_local(tmp_path: Path) -> None:
    assert file_system(tmp_path, tmp_path / "no-such-table") is None
    assert not on_network(tmp_path, tmp_path / "no-such-table")
    (tmp_path / "odd").write_text("half a\n\nline\n")
    assert file_system(tmp_path, tmp_path / "odd") is None


def test_the_kernels_own_table(disk: Callable[..., Path], tmp_path: Path) -> None:
    place = disk(1 << 20)
    (place / "deep").mkdir()
    assert file_system(place / "deep") == "tmpfs"
    assert file_system(tmp_path) is not None
    assert file_system(Path("/proc/self")) == "proc"
