# SPDX-License-Identifier: GPL-2.0
"""Paths, and a digest of files."""

import hashlib
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
BUILD = LAB.parent / "build"
LINUX = BUILD / "linux"
OUT = BUILD / "mutants"


NO_SOURCE = (".pml", ".sh")


def digest_of(paths):
    """Digest of files and directories of the kernel tree, without files that aren't built."""
    digest = hashlib.sha256()
    for path in paths:
        path = LINUX / path
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if (file.is_file() and file.suffix not in NO_SOURCE and
                    "build" not in file.parts[len(LINUX.parts):]):
                digest.update(str(file.relative_to(LINUX)).encode() + file.read_bytes())
    return digest.hexdigest()
