# SPDX-License-Identifier: GPL-2.0
"""Changes that a test in user space should find: each is built and run."""

import functools
import hashlib
import os
import queue
import resource
import shutil
import signal
import subprocess

from changes import mutants_of_file
from tap import first_failure
from where import LINUX, OUT, digest_of

HARNESS = "tools/testing/perf_events"
SHARED = [f"{HARNESS}/{name}" for name in
          ("build.mk", "perf.mk", "perf_alloc.c", "perf_alloc.h", "perf_debug.c",
           "single_step.c", "single_step.h", "tap.h", "include")]
UTIL = "tools/perf/util"
SIDEBAND = [f"{UTIL}/sideband-{part}.c" for part in
            ("store", "record", "pending", "shortlived", "tasks", "maps", "objects", "dump", "ends")]


def unless_interrupted(done):
    """Stop if the user interrupted the command: then its result means nothing."""
    if done.returncode in (-signal.SIGINT, -signal.SIGTERM):
        raise KeyboardInterrupt
    return done


class Tree:
    """The kernel files that the tests need, as a tree of links in which one file at a time is
    changed."""

    def __init__(self, number):
        self.root = OUT / f"tree-{number}"
        self.objects = OUT / f"objects-{number}"
        shutil.rmtree(self.root, ignore_errors=True)
        for path in ("kernel/events", HARNESS, UTIL):
            shutil.copytree(LINUX / path, self.root / path, copy_function=os.symlink)
        for path in ("include", "arch", "tools/include", "tools/lib", "tools/arch",
                     "tools/perf/tests"):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).symlink_to(LINUX / path)

    def put(self, path, content):
        file = self.root / path
        file.unlink()
        file.write_text(content)

    def restore(self, path):
        (self.root / path).unlink()
        (self.root / path).symlink_to(LINUX / path)

    def build(self, target, program):
        """Without warnings, as a change may leave something unused. A file that is changed back
        has its old time, but its link (-L) has not."""
        file = self.file_of(target, program)
        compiler = "ccache gcc -w" if shutil.which("ccache") else "gcc -w"
        return unless_interrupted(subprocess.run(
            ["make", "-s", "-L", "-C", str(self.root / target.directory),
             f"O={file.parent}", f"CC={compiler}", str(file)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False))

    def file_of(self, target, program):
        return self.objects / target.name / program.split()[0]

    def machine_code(self, target, program):
        """The program without symbols and line numbers."""
        stripped = self.objects / target.name / "stripped"
        subprocess.run(["strip", "-o", str(stripped), str(self.file_of(target, program))],
                       check=True)
        return hashlib.sha256(stripped.read_bytes()).digest()

    def test(self, target, program, cpu_limit):
        """The first failure, or None. A program that exceeds its CPU time has failed, too. It is
        CPU time, so that a busy machine doesn't matter."""
        name, *arguments = program.split()
        failed, status = first_failure(
            [str(self.file_of(target, program)), *arguments],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU,
                                                  (cpu_limit, cpu_limit)))
        if not failed and status in (-signal.SIGINT, -signal.SIGTERM):
            raise KeyboardInterrupt
        if failed or status:
            return f"{name}: {failed or f'status {status}'}"
        return None


class Target:
    """Files, the directory where make builds their test programs, and the commands to run."""

    trees = queue.SimpleQueue()

    def __init__(self, name, files, directory, programs, inputs=()):
        self.name = name
        self.files = files
        self.directory = directory
        self.programs = programs
        self.inputs = [directory, *SHARED, *inputs, *files]
        self.cpu_limits, self.codes = {}, {}

    def mutants(self):
        for path in self.files:
            yield from mutants_of_file(self.name, path, (LINUX / path).read_text())

    @functools.cached_property
    def digest_of_inputs(self):
        return digest_of(self.inputs)

    def digest(self, verdict):
        """Of the tests on which @verdict depends: all of them."""
        del verdict
        return self.digest_of_inputs

    def prepare(self, workers):
        """Runs the tests on the unchanged code, for their CPU time and the machine code."""
        if Target.trees.empty():
            for number in range(workers):
                Target.trees.put(Tree(number))
        tree = Target.trees.get()
        for program in self.programs:
            build = tree.build(self, program)
            if build.returncode:
                raise SystemExit(f"{self.name}: does not build:\n{build.stdout.decode()}")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            failed = tree.test(self, program, 3600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if failed:
                raise SystemExit(f"{self.name}: fails without any change: {failed}")
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            self.cpu_limits[program] = int(5 + 2 * cpu)
            self.codes[program] = tree.machine_code(self, program)
        Target.trees.put(tree)

    def verdict(self, mutant):
        """Tries each program in turn, up to the one that finds the change."""
        tree = Target.trees.get()
        verdict = "none, same machine code"
        try:
            tree.put(mutant.path, mutant.content())
            for program in self.programs:
                if tree.build(self, program).returncode:
                    return "none, does not compile"
                if tree.machine_code(self, program) == self.codes[program]:
                    continue
                failed = tree.test(self, program, self.cpu_limits[program])
                if failed:
                    return f"found by {failed}"
                verdict = "survived"
            return verdict
        finally:
            tree.restore(mutant.path)
            Target.trees.put(tree)


TARGETS = [
    Target("aux_action", ["kernel/events/aux_action.c", "kernel/events/aux_level.c"],
           HARNESS + "/aux_action", ["aux_action_test", "aux_action_tsan"],
           ["include/linux/perf_aux_action.h"]),
    Target("output_shared", [f"kernel/events/output_{name}" for name in
                             ("shared.c", "shared.h", "lease.c", "overwrite.c")],
           HARNESS + "/output", ["output_test", "output_test_tsan"],
           ["kernel/events/ring_buffer.c", "kernel/events/internal.h"]),
    Target("sideband", SIDEBAND, HARNESS + "/sideband",
           ["sideband_unit_test", "sideband_store_test 60"],
           [*(f"{UTIL}/{name}" for name in
              ("sideband-store.h", "sideband-state.h", "sideband-pending.h")),
            *sorted(f"tools/perf/tests/{path.name}" for path in
                    (LINUX / "tools/perf/tests").glob("sideband-*.[ch]"))]),
    Target("memory-ring", [f"{UTIL}/memory-ring.c"], HARNESS + "/memory_ring",
           ["memory_ring_test"], [f"{UTIL}/memory-ring.h",
                                    "tools/perf/tests/memory-ring.c"]),
    Target("trigger", [f"{UTIL}/{name}.c" for name in
                       ("duration", "trigger-parse", "trigger-calls", "trigger-window",
                        "trigger-engine")],
           HARNESS + "/trigger", ["trigger_engine_test"],
           [*(f"{UTIL}/{name}.h" for name in
              ("duration", "trigger-parse", "trigger-calls", "trigger-window",
               "trigger-engine", "trigger-occurrence")), "tools/perf/tests/trigger-engine.c"]),
    Target("trigger-socket", [f"{UTIL}/{name}.c" for name in
                              ("trigger-socket", "trigger-socket-file", "uid-rate")],
           HARNESS + "/trigger_socket", ["trigger_socket_test"],
           [*(f"{UTIL}/{name}.h" for name in
              ("trigger-socket", "trigger-socket-file", "uid-rate", "trigger-parse")),
            "tools/perf/tests/trigger-socket.c"]),
]
