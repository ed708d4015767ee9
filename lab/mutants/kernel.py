# SPDX-License-Identifier: GPL-2.0
"""Changes of the kernel that a kselftest should find. All of them are in one kernel, and a
kernel parameter selects one: a change costs a boot and its tests, but no build."""

import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from changes import mutants_of_file
from switches import with_switches
from tap import first_failure
from where import BUILD, LAB, LINUX, OUT, digest_of

KERNEL = BUILD / "kernel-mutants"
KSELFTESTS = BUILD / "kselftest/perf_events"
MODEL = ["arch/x86/events/intel/trace_model"]
QEMU_FAULT = 90

# Until one fails. Slow NMIs of one program must not lower the sampling rate of the next.
RUN_ALL = """
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
for program; do
	echo "# program ${program##*/}"
	"$program" || [ $? = 4 ] || exit
done
"""


class KernelTarget:
    """The lines that the series adds to a file of the kernel. Its boots are programs, with
    options of lab/run."""

    def __init__(self, name, path, *boots):
        self.name, self.path, self.boots = name, path, boots
        self.parameter = "mutant_" + Path(path).stem
        self.source, self.chosen = None, []

    def switch(self):
        """The source with all changes in it."""
        text = (LINUX / self.path).read_text()
        added = self.added_lines()
        mutants = [m for m in mutants_of_file(self.name, self.path, text) if m.line in added]
        self.source, self.chosen = with_switches(text, mutants, self.parameter)

    def added_lines(self):
        diff = subprocess.run(["git", "-C", str(LINUX), "diff", "-U0", "base", "--", self.path],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        lines = set()
        for first, count in re.findall(r"^@@ \S+ \+(\d+)(?:,(\d+))? @@", diff, re.M):
            lines.update(range(int(first), int(first) + int(count or 1)))
        return lines

    def mutants(self):
        self.switch()
        return self.chosen

    def digest(self, verdict):
        """Of the programs, as they are built, on which @verdict depends: the one that found
        the change, or all of them."""
        finder = re.match(r"found by (\w+): ", verdict)
        return self.digest_of_programs(finder.group(1) if finder else None)

    @functools.cache
    def digest_of_programs(self, finder):
        build_kselftests()
        digest = hashlib.sha256()
        for programs, options in self.boots:
            for program in programs:
                if finder in (None, program):
                    digest.update((KSELFTESTS / program).read_bytes() + str(options).encode())
            if any(option.startswith("--model") for option in options):
                digest.update(digest_of(MODEL).encode())
        return digest.hexdigest()

    def prepare(self, workers):
        """Builds the kernel, and checks that the tests pass without a change."""
        del workers
        build_kernel()
        failed = self.test(0)
        if failed:
            raise SystemExit(f"{self.name}: fails without any change: {failed}")

    def verdict(self, mutant):
        """The program that found the change last time runs first."""
        finder = OUT / "finders" / hashlib.sha256(mutant.key.encode()).hexdigest()
        failed = self.test(mutant.number, finder.read_text() if finder.exists() else "")
        if not failed:
            return "survived"
        finder.parent.mkdir(exist_ok=True)
        finder.write_text(failed.split(":")[0])
        return f"found by {failed}"

    def test(self, number, first=""):
        """The first failure, or None"""
        for programs, options in sorted(self.boots, key=lambda boot: first not in boot[0]):
            programs = sorted(programs, key=lambda program: program != first)
            failed = self.test_boot(number, programs, options)
            if failed:
                return failed
        return None

    def test_boot(self, number, programs, options):
        """After one of the known faults of QEMU, which say nothing about the change, it tries
        again. What a machine printed that ended in another way is kept."""
        for _ in range(3):
            with tempfile.TemporaryDirectory(dir=OUT) as work:
                failed, status = self.boot(number, programs, options, Path(work))
                if not failed and status not in (0, QEMU_FAULT):
                    kept = OUT / f"{self.name}.{number}"
                    shutil.copytree(work, kept, dirs_exist_ok=True)
            if failed or status != QEMU_FAULT:
                break
        return failed or (f"status {status}" if status else None)

    def boot(self, number, programs, options, work):
        programs = [str(KSELFTESTS / program) for program in programs]
        return first_failure(
            [str(LAB / "run"), "--kernel", "mutants", *options, "--mem", "2048",
             "--timeout", "900", "--append", f"{self.parameter}={number}",
             "--console", str(work / "console"), "--",
             "sh", "-c", RUN_ALL, "sh", *programs], log=work / "output", cwd=KSELFTESTS)


@functools.cache
def build_kselftests():
    subprocess.run([LAB / "build-kselftests"], check=True)


def build_kernel():
    """With the changed files mounted over those of the tree, for the build only."""
    mounts = []
    for target in TARGETS:
        if not target.source:
            target.switch()
        file = OUT / Path(target.path).name
        if not file.exists() or file.read_text() != target.source:
            file.write_text(target.source)
        mounts.append(f"mount --bind '{file}' '{LINUX / target.path}'")
    subprocess.run([LAB / "build-kernel"], check=True)
    if not KERNEL.exists():
        shutil.copytree(BUILD / "kernel-default", KERNEL, symlinks=True)
    subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-ec",
                    "\n".join([*mounts, f"'{LAB}/build-kernel' --name mutants"])], check=True)


# Programs for both drivers, after those that find the most
INTEL = ["intel_deferred", "intel_keep", "intel_delivery", "intel_beside", "intel_exclusive",
         "intel_migrate", "intel_addresses", "intel_rdpmc", "intel_storm"]

TARGETS = [
    KernelTarget("intel-pt", "arch/x86/events/intel/pt.c",
                 (["intel_pt_gates", "intel_pt_levels", "intel_pt_modes", "intel_pt_inside",
                   "intel_pt_cases", "aux_pt_total", *INTEL], ["--model=pebs"]),
                 (["aux_pt_total"], ["--model=no-single-range"]),
                 (["aux_pt_total"], ["--model=single-entry"])),
    KernelTarget("intel-bts", "arch/x86/events/intel/bts.c",
                 (["intel_bts_late", "intel_bts_gates", "intel_bts_inside", "aux_bts_total",
                   *INTEL], ["--model=pebs"])),
    KernelTarget("keep", "kernel/events/aux_keep.c", (["aux_keep", "aux_threads"], [])),
    KernelTarget("threads", "kernel/events/aux_thread.c", (["aux_threads"], [])),
    KernelTarget("core", "kernel/events/core.c",
                 (["aux_action_errors", "aux_sched", "aux_migrate", "aux_gates",
                   "core_faults", "aux_faults", "kernel_addresses", "nmi_addresses",
                   "output_shared", "output_leases", "output_redirect", "aux_teardown", "aux_total",
                   "aux_overwrite", "aux_sample", "aux_pause", "sigtrap_threads",
                   "remove_on_exec", "ring_aux", "ring_records", "mmap", "aux_keep",
                   "aux_threads"], ["--smp", "4"]),
                 (["intel_exclusive"], ["--model=pebs"])),
]
