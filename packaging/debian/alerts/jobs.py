# SPDX-License-Identifier: GPL-2.0
"""What receive and deliver share: dumps that alerts have asked for, until they are stored.

A job is a directory of the queue, with the dump and about.json. Its name says how far it is:

	.new-NAME	receive makes it; a crash leaves it, and the next receive removes it
	NAME		complete and on the disk: it waits for deliver
	.stored-NAME	stored: its alerts have to be remembered, then it is removed

An alert is known as long as its job is there, and after that by a file in seen/, which is
named by the alert's fingerprint and has the time at which it began.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

STATE = Path(os.environ.get("STATE_DIRECTORY", "/var/lib/perf-flight-alerts"))
QUEUE = STATE / "queue"
SEEN = STATE / "seen"
NEW, STORED = ".new-", ".stored-"
FORGET_AFTER = 30 * 24 * 3600
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def prepare():
    """Makes the directories."""
    QUEUE.mkdir(exist_ok=True)
    SEEN.mkdir(exist_ok=True)


def bytes_of(text):
    """ValueError unless @text is a size such as 500M."""
    unit = UNITS.get(text[-1:], 1)
    number = int(text[:-1] if text[-1:] in UNITS else text)
    if number <= 0:
        raise ValueError(text)
    return number * unit


def waiting():
    """The jobs, the oldest first: their names begin with the time."""
    return sorted(job for job in QUEUE.glob("[!.]*") if job.is_dir())


def about(job):
    """ValueError or OSError if nobody can tell: not by a crash, but a disk can break."""
    return json.loads((job / "about.json").read_text())


def alerts_of(job):
    """Of a job that deliver may just have removed, or that is broken, none"""
    try:
        return about(job)["alerts"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError) as error:
        print(f"{job.name} is broken: {error}", file=sys.stderr)
        return []


def size():
    """Of all jobs, in bytes. What deliver removes meanwhile doesn't count."""
    total = 0
    for file in QUEUE.glob("*/*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            pass
    return total


def known():
    """When alerts that have their dump have begun, by their fingerprints. The queue comes
    first: deliver remembers the alerts of a job before it removes it."""
    since = {}
    for job in [*waiting(), *QUEUE.glob(STORED + "*")]:
        for alert in alerts_of(job):
            since[alert["id"]] = max(alert["since"], since.get(alert["id"], ""))
    for file in SEEN.glob("[!.]*"):
        since[file.name] = max(remembered(file.name), since.get(file.name, ""))
    return since


def remembered(fingerprint):
    """When that alert has begun, or an empty text"""
    try:
        return (SEEN / fingerprint).read_text()
    except FileNotFoundError:
        return ""


def remember(alerts):
    """An alert that goes on is sent again and again: it is remembered from the last time.
    Jobs don't end in order, so what began later stays. Both programs may be here at once."""
    for alert in alerts:
        unfinished = SEEN / f".{alert['id']}.{os.getpid()}"
        unfinished.write_text(max(alert["since"], remembered(alert["id"])))
        unfinished.rename(SEEN / alert["id"])
    sync(SEEN)


def forget_old():
    for file in SEEN.iterdir():
        try:
            if file.stat().st_mtime < time.time() - FORGET_AFTER:
                file.unlink()
        except FileNotFoundError:
            pass    # The other program has been here.


def sync(path):
    """Files, and entries of directories, are on the disk after that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_unfinished():
    """What an earlier receive has left"""
    for job in QUEUE.glob(NEW + "*"):
        shutil.rmtree(job)


def commit(name, files, facts):
    """Makes a job of copies of @files (names in it to paths), and of about.json with @facts.
    OSError if that fails; then nothing is left of it."""
    unfinished = QUEUE / f"{NEW}{name}"
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


def end(job):
    """It is stored, and isn't handed over again, whatever fails from here on."""
    stored = job.with_name(f"{STORED}{job.name}")
    job.rename(stored)
    sync(QUEUE)
    remove_stored(stored)


def remove_stored(stored):
    remember(alerts_of(stored))
    shutil.rmtree(stored)


def remove_all_stored():
    """What an earlier deliver could not remove"""
    for stored in QUEUE.glob(STORED + "*"):
        remove_stored(stored)
