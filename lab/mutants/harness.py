# SPDX-License-Identifier: GPL-2.0
"""Changes that a test in user space should find: each is built and run."""

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
UTIL = "tools/perf/util"
SIDEBAND = [f"{UTIL}/sideband-{part}.c" for part in
            ("store", "pending", "lives", "tasks", "maps", "objects", "dump", "ends")]


def unless_interrupted(done):
    """What a key ended says nothing of the change."""
    if done.returncode in (-signal.SIGINT, -signal.SIGTERM):
        raise KeyboardInterrupt
    return done


class Tree:
    """A copy of what the tests need of the kernel, of links, in which one file at a time
    is changed."""

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

    def program(self, target, command):
        return self.objects / target.name / command.split()[0]

    def build(self, target, command):
        """Without warnings: a change that leaves something unused is one all the same."""
        program = self.program(target, command)
        program.unlink(missing_ok=True)
        compiler = "ccache gcc -w" if shutil.which("ccache") else "gcc -w"
        return unless_interrupted(subprocess.run(
            ["make", "-s", "-C", str(self.root / target.directory),
             f"O={program.parent}", f"CC={compiler}", str(program)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False))

    def machine_code(self, target, command):
        """A digest of the program without symbols and lines."""
        program = self.program(target, command)
        stripped = program.parent / "stripped"
        subprocess.run(["strip", "-o", str(stripped), str(program)], check=True)
        return hashlib.sha256(stripped.read_bytes()).digest()

    def test(self, target, command, cpu_limit):
        """What fails first, or None. A program that takes more than its CPU time has failed,
        too; a busy machine is no reason to."""
        failed, status = first_failure(
            [str(self.program(target, command)), *command.split()[1:]],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit)))
        if not failed and status in (-signal.SIGINT, -signal.SIGTERM):
            raise KeyboardInterrupt
        if failed or status:
            return f"{command.split()[0]}: {failed or f'status {status}'}"
        return None


class Target:
    """Files, where make builds their test programs, and how these are called."""

    trees = queue.SimpleQueue()

    def __init__(self, name, files, directory, programs, inputs=()):
        self.name = name
        self.files = files
        self.directory = directory
        self.programs = programs
        self.inputs = [directory, HARNESS + "/tap.h", *inputs, *files]
        self.cpu_limit, self.code = 3600, {}

    def mutants(self):
        for path in self.files:
            yield from mutants_of_file(self.name, path, (LINUX / path).read_text())

    def digest(self):
        return digest_of(self.inputs)

    def prepare(self, workers):
        """The tests of the unchanged code pass: how long, and what is its machine code?"""
        if Target.trees.empty():
            for number in range(workers):
                Target.trees.put(Tree(number))
        tree = Target.trees.get()
        for command in self.programs:
            build = tree.build(self, command)
            if build.returncode:
                raise SystemExit(f"{self.name}: does not build:\n{build.stdout.decode()}")
            self.code[command] = tree.machine_code(self, command)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        failed = [tree.test(self, command, self.cpu_limit) for command in self.programs]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if any(failed):
            raise SystemExit(f"{self.name}: fails without any change: {failed}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.cpu_limit = int(5 + 4 * cpu)
        Target.trees.put(tree)

    def verdict(self, mutant):
        """What the first program finds, the others needn't even be built for."""
        tree = Target.trees.get()
        changed = False
        try:
            tree.put(mutant.path, mutant.content())
            for command in self.programs:
                if tree.build(self, command).returncode:
                    return "none, does not compile"
                if tree.machine_code(self, command) == self.code[command]:
                    continue
                changed = True
                failed = tree.test(self, command, self.cpu_limit)
                if failed:
                    return f"found by {failed}"
            return "survived" if changed else "none, same machine code"
        finally:
            tree.restore(mutant.path)
            Target.trees.put(tree)


TARGETS = [
    Target("aux_action", ["kernel/events/aux_action.c"], HARNESS,
           ["aux_action_test", "aux_action_tsan"], ["include/linux/perf_aux_action.h"]),
    Target("output_shared", ["kernel/events/output_shared.c"], HARNESS + "/output",
           ["output_test", "output_test_tsan"],
           ["kernel/events/ring_buffer.c", "kernel/events/internal.h"]),
    Target("sideband", SIDEBAND, HARNESS + "/sideband",
           ["sideband_unit_test", "sideband_store_test 60"],
           [*(f"{UTIL}/{name}" for name in
              ("sideband-store.h", "sideband-state.h", "sideband-pending.h")),
            f"{HARNESS}/perf_debug.c", *(f"tools/perf/tests/{name}" for name in
                                         ("sideband-store.c", "sideband-resolve.h"))]),
    Target("snapshot-ring", [f"{UTIL}/snapshot-ring.c"], HARNESS + "/ring",
           ["snapshot_ring_test"], [f"{UTIL}/snapshot-ring.h", f"{HARNESS}/perf_debug.c",
                                    "tools/perf/tests/snapshot-ring.c"]),
]
