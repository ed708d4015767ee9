# SPDX-License-Identifier: GPL-2.0
"""What receive and deliver share: dumps that alerts have asked for, until they are stored.

A job is a directory of the queue, with the dump and about.json. It is made under a hidden name
and renamed when it is complete and on the disk, so that a crash leaves all of it or nothing.
Its alerts are known as long as it is there, and after that by a file in seen/ for each.
"""

import json
import os
import shutil
import time
from pathlib import Path

STATE = Path(os.environ.get("STATE_DIRECTORY", "/var/lib/perf-flight-alerts"))
QUEUE = STATE / "queue"
SEEN = STATE / "seen"
FORGET_AFTER = 30 * 24 * 3600
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def prepare():
    """Makes the directories. Only receive may call this: it removes jobs that it didn't end."""
    QUEUE.mkdir(exist_ok=True)
    SEEN.mkdir(exist_ok=True)
    for unfinished in QUEUE.glob(".*"):
        shutil.rmtree(unfinished, ignore_errors=True)


def bytes_of(text):
    """ValueError unless @text is a size such as 500M."""
    unit = UNITS.get(text[-1:], 1)
    number = int(text[:-1] if text[-1:] in UNITS else text)
    if number <= 0:
        raise ValueError(text)
    return number * unit


def waiting():
    """The jobs, the oldest first: their names begin with the time."""
    if not QUEUE.is_dir():
        return []
    return sorted(job for job in QUEUE.iterdir() if not job.name.startswith("."))


def size():
    """Of all jobs, in bytes. A job that deliver removes meanwhile doesn't count."""
    total = 0
    for job in waiting():
        for file in job.glob("*"):
            try:
                total += file.stat().st_size
            except FileNotFoundError:
                pass
    return total


def about(job):
    return json.loads((job / "about.json").read_text())


def known():
    """The ids of the alerts that have their dump, waiting or stored."""
    ids = set()
    for job in waiting():
        try:
            ids.update(alert["id"] for alert in about(job)["alerts"])
        except FileNotFoundError:
            pass    # deliver has removed it, and has remembered its alerts before
    return ids.union(file.name for file in SEEN.iterdir())


def remember(ids):
    """An alert that goes on is sent again and again: it's remembered from the last time."""
    for one in ids:
        (SEEN / one).touch()
    sync(SEEN)


def forget_old():
    for file in SEEN.iterdir():
        if file.stat().st_mtime < time.time() - FORGET_AFTER:
            file.unlink()


def sync(path):
    """Files, and entries of directories, are on the disk after that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def commit(name, files, facts):
    """Makes a job of copies of @files (names in it to paths), and of about.json with @facts.
    OSError if that fails; then nothing is left of it."""
    unfinished = QUEUE / f".{name}"
    unfinished.mkdir(mode=0o750)
    try:
        for inside, path in files.items():
            shutil.copyfile(path, unfinished / inside)
        (unfinished / "about.json").write_text(json.dumps(facts, indent=2) + "\n")
        for file in unfinished.iterdir():
            sync(file)
        sync(unfinished)
        unfinished.rename(QUEUE / name)
        sync(QUEUE)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def remove(job):
    """Its alerts stay known. A crash in the middle leaves a hidden part of it, for prepare()."""
    remember(alert["id"] for alert in about(job)["alerts"])
    hidden = job.with_name(f".{job.name}")
    job.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)
