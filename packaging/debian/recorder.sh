#!/bin/sh
# perf with no more capabilities than the kernel asks for. CAP_PERFMON is enough, but kernels
# of Debian ask for CAP_SYS_ADMIN if kernel.perf_event_paranoid is 3, as it is there without
# a setting. So give that up if an event of all CPUs opens without it.
perf=/usr/lib/perf-flight/bin/perf
less='setpriv --ambient-caps -sys_admin --inh-caps -sys_admin'

# shellcheck disable=SC2086  # several words
if $less $perf stat -a -e cpu-clock -o /dev/null true 2>/dev/null; then
	exec $less $perf "$@"
fi
echo "The kernel doesn't let CAP_PERFMON alone open events, so perf keeps CAP_SYS_ADMIN." \
	"With 'sysctl kernel.perf_event_paranoid=2' it doesn't need it." >&2
exec $perf "$@"
