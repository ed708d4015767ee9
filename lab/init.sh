#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# First process of the virtual machine, started by lab/run; not for the host.
#
# The root is the host's / over 9p, read-only. On top comes an overlay whose
# upper layer is a tmpfs: every path can be written in the guest, the host never
# changes, and the repository may lie anywhere, below /tmp too.
#
# Channels to lab/run are virtio-serial ports, not the console:
#   flight.control  lines: "ready", "beat" every 2 s, at the end "exit STATUS"
#   flight.out, flight.err  output of the command
# shellcheck disable=SC2154  # the request assigns: share modules dir environment
# command terminal rows columns
set -u

# Under emulation a command takes a tenth of a second, most of it to load libraries. So use few,
# and those of busybox, which is linked statically.

fail() {
	printf '<2>lab: %s\n' "$*" >/dev/kmsg
	exit 1 # the kernel panics: lab/run sees the guest end without a status
}

# pivot_root moves this shell, too: there is no need to start it again.
make_root() {
	PATH=/usr/sbin:/usr/bin:/sbin:/bin
	busybox mount -t tmpfs -o size=75% tmpfs /run
	busybox mkdir -p /run/upper/.lower /run/work /run/root
	busybox mount -t overlay -o lowerdir=/,upperdir=/run/upper,workdir=/run/work overlay \
		/run/root
	cd /run/root && busybox pivot_root . .lower && cd / || exit 1
}

# In order: some directories are in what is mounted before them.
mount_all() {
	mount -a --fstab "$1"
	# As other inits do: enabling any controller also gives cgroups that of perf.
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || :
	busybox ln -sfn /proc/self/fd /dev/fd
	busybox ln -sfn fd/0 /dev/stdin
	busybox ln -sfn fd/1 /dev/stdout
	busybox ln -sfn fd/2 /dev/stderr
	busybox mkdir -p /run/lock /run/home
	[[ -f /run/lab/request ]] || fail "no lab share"
}

# share is the tag of the caller's directory, if there is one.
mount_share() {
	[[ $share ]] || return 0
	mkdir -p /host
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap host /host ||
		fail "no share"
}

mount_modules() {
	local release
	release=$(</proc/sys/kernel/osrelease)
	[[ -d $modules/lib/modules/$release ]] || return 0
	busybox mkdir -p "/lib/modules/$release"
	busybox mount --bind "$modules/lib/modules/$release" "/lib/modules/$release"
}

set_sysctl() {
	[[ ! -e /proc/sys/$1 ]] || echo "$2" >"/proc/sys/$1"
}

# Unprivileged perf must not depend on the host's settings.
set_sysctls() {
	set_sysctl kernel/perf_event_paranoid -1
	set_sysctl kernel/kptr_restrict 0
	set_sysctl kernel/hung_task_timeout_secs 60
	set_sysctl kernel/panic_on_rcu_stall 1
	set_sysctl kernel/hostname flight
}

# A second after the boot, or later on a busy host, the kernel measures the TSC's
# frequency again and changes the slope of its clock. perf reads the slope only once: the
# times of a trace that is being recorded then would be wrong.
wait_for_clock() {
	local clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
	local end=$((SECONDS + 30))

	[[ -d /sys/bus/event_source/devices/intel_pt ]] || return 0
	while [[ $(<"$clock") == tsc-early ]] && ((SECONDS < end)); do
		read -rt 0.1 <> <(:) || :
	done
}

# No udev: find the port's device by its name.
port() {
	local name
	for name in /sys/class/virtio-ports/*/name; do
		[[ $(<"$name") != "$1" ]] || { name=${name%/name} && echo "/dev/${name##*/}" && return; }
	done
	fail "no port $1"
}

beat() {
	local never
	exec {never}<> <(:)
	while echo beat; do
		read -rt 2 -u "$never" || :
	done
}

# kill_leftovers KEEP... - kill what the command left running, but not the pids KEEP. Kernel
# threads and dead processes have no command line; nor has, for a moment, one in execve().
kill_leftovers() {
	local proc pid
	for proc in /proc/[0-9]*; do
		pid=${proc#/proc/}
		[[ " 1 $* " != *" $pid "* ]] || continue
		IFS= read -rd '' <"$proc/cmdline" && kill -KILL "$pid"
	done 2>/dev/null
}

# end_output READER... - wait for the readers of the command's output. What the command left
# running has that output open. A process can miss the signal while it starts another: send
# it until the readers are at their end.
end_output() {
	local reader never

	exec {never}<> <(:)
	for reader; do
		while kill_leftovers "$@" "$beat"; kill -0 "$reader" 2>/dev/null; do
			read -rt 0.1 -u "$never" || :
		done
	done
}

# Through pipes, because a port can be opened only once and a program may open
# /dev/stdout again.
run_command() {
	local out err status
	busybox mkfifo /run/out /run/err
	busybox cat /run/out >"$(port flight.out)" & out=$!
	busybox cat /run/err >"$(port flight.err)" & err=$!
	(cd -- "$dir" && exec setsid -w env -i "${environment[@]}" "${command[@]}") \
		>/run/out 2>/run/err </dev/null {control}>&-
	status=$?
	end_output "$out" "$err"
	return "$status"
}

run_on_terminal() {
	stty rows "$rows" cols "$columns" </dev/hvc0
	(cd -- "$dir" && exec setsid -w -c env -i "${environment[@]}" "${command[@]}") \
		<>/dev/hvc0 >&0 2>&0 {control}>&-
}

make_root
mount_all "${0%/*}/fstab"
# shellcheck source=/dev/null
. /run/lab/request
mount_share
mount_modules
set_sysctls
wait_for_clock
busybox ip link set lo up 2>/dev/null
exec {control}>"$(port flight.control)"
echo ready >&"$control"
beat >&"$control" &
beat=$!
if [[ $terminal ]]; then run_on_terminal; else run_command; fi
status=$?
[[ ! $share ]] || umount /host || sync
kill -KILL "$beat"
wait "$beat" 2>/dev/null
# lab/run ends the machine when it has read this. Repeat it until then: a single line
# was seen to get lost.
exec {never}<> <(:)
while echo "exit $status"; do
	read -rt 2 -u "$never" || :
done >&"$control"
