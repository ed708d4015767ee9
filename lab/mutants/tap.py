# SPDX-License-Identifier: GPL-2.0
"""Tests until the first one that fails."""

import os
import re
import subprocess
import threading

FAILED = re.compile(r"(?:# )?(not ok.*|Bail out!.*)")
PROGRAM = re.compile(r"# program (\w+)$")
LONGEST = 1200


def first_failure(command, log=os.devnull, **options):
    """The first line of TAP with a failure, after which the command is ended, or None; and the
    status, which is that of a signal if the command was killed. If the command announces its
    programs, the failure begins with the program's name. What it prints goes to @log, too."""
    program = ""
    with (open(log, "w", encoding="utf-8") as copy,
          subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace", **options) as run):
        timer = threading.Timer(LONGEST, run.kill)
        timer.start()
        try:
            for line in run.stdout:
                copy.write(line)
                if announced := PROGRAM.match(line):
                    program = announced.group(1) + ": "
                if failed := FAILED.match(line):
                    run.terminate()
                    return program + failed.group(1), run.wait()
        finally:
            timer.cancel()
    return None, run.returncode
