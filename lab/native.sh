# shellcheck shell=bash
# Sourced by tests of perf that need no change of the kernel: on this machine they take a part
# of the time that they take in the virtual machine.

native_dir=$build/memory-ring-test

# native COMMAND [ARG]... - with the perf of the series, and with a tracefs, where nobody has
# mounted one. What this mounts ends with it, and what it caches is in $native_dir.
# shellcheck disable=SC2016  # the inner shell expands it
native() {
	env PATH="$build/perf:$PATH" HOME="$native_dir/home" LANG=C.UTF-8 \
		timeout 3600 unshare --mount sh -c '
			[ -e /sys/kernel/tracing/README ] ||
				mount -t tracefs tracefs /sys/kernel/tracing || exit
			exec "$@"' sh "$@"
}

# The load and its checker
native_programs() {
	step programs "$logs/memory-ring-test.log" \
		make -C "$lab_dir/memory-ring-test" O="$native_dir" >&2
}

# native_works - can this user mount, record events of all CPUs and tracepoints, and set probes?
# A run that was killed may have left one.
# shellcheck disable=SC2016  # the inner shell expands it
native_works() {
	((!EUID)) &&
		native sh -c 'mkdir -p "$HOME" && mount -t tmpfs tmpfs "$HOME" &&
			perf record -q -a -e syscalls:sys_enter_chroot -e cpu-clock -o "$HOME/data" true &&
			{ perf probe -q -d probe_pairs:main; perf probe -q -x "$0/pairs" -a main; } &&
			perf probe -q -d probe_pairs:main' \
			"$native_dir" >"$logs/native.log" 2>&1
}
