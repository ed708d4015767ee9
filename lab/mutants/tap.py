# SPDX-License-Identifier: GPL-2.0
"""Tests until the first one that fails."""

import re
import subprocess

FAILED = re.compile(r"(?:# )?(not ok.*|Bail out!.*)")


def first_failure(command, **options):
    """The first line of TAP that says so, which ends the command, or None; and its status."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", **options) as run:
        for line in run.stdout:
            failed = FAILED.match(line)
            if failed:
                run.terminate()
                return failed.group(1), run.wait()
    return None, run.returncode
