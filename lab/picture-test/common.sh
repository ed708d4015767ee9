# shellcheck shell=bash
# shellcheck disable=SC2154  # the sourcing script sets here and bin
# Shared by the tests of pictures; sourced after lab/trace-test/common.sh, never run. They
# work in a directory of their own.

build_programs() {
	make -s -C "$lab_dir/trace-test" O="$bin" &&
		cc -O2 -g -Wall -static -no-pie -fcf-protection=none -o program "$here/program.c" && return
	echo 'Bail out! the programs do not build'
	return 1
}

# trace NAME PROGRAM... - a trace of it into NAME.data
trace() {
	local name=$1

	shift
	"$bin/step_list" "$@" >"$name.list" 2>"$name.said" &&
		"$lab_dir/trace-test/instructions" "$@" >"$name.code" &&
		"$bin/synthesize" -p "$name.list" "$name.code" "$@" >"$name.data"
}

# convert NAME ARG... - NAME.data into NAME.json, and that into NAME.slices
convert() {
	local name=$1

	shift
	exits 0 perf data convert -i "$name.data" -f --to-trace-events "$name.json" "$@" &&
		"$here/slices" "$name.json" >"$name.slices"
}

# calls PROGRAM - of a program whose calls all return: PROGRAM.calls has those that perf
# script prints, and PROGRAM.json, in nanoseconds, has the same
calls() {
	trace "$1" "$bin/$1" && convert "$1" || return
	perf script -i "$1.data" --itrace=be --ns -F pid,tid,time,flags,ip,sym,addr 2>script.err |
		"$here/calls" "$1.code" >"$1.calls" || return
	"$here/slices" --ns "$1.json" >"$1.ns" && same "$1.ns" "$1.calls"
}

# self_times PROGRAM <LIST - as folded stacks, sorted. LIST has calls in nanoseconds.
self_times() {
	awk -v program="$1" '
		{
			path[$4] = ($4 ? path[$4 - 1] : program) ";" $5
			self[path[$4]] += $3 - $2
			if ($4)
				self[path[$4 - 1]] -= $3 - $2
		}
		END { for (stack in self) if (self[stack]) print stack, self[stack] }' | sort
}

# Who runs on this machine, and samples, into here.data
record_here() {
	perf record -q -e cpu-clock -F 500 --switch-events -a -o here.data -- sleep 0.5 >said 2>&1 ||
		complain "perf record: $(<said)"
}

# Dumps into dump.data, one because of SIGUSR2, and some because of a trigger. dump.reasons has
# what the header says.
record_dumps() {
	# shellcheck disable=SC2016  # of the shell that is recorded
	exits 0 perf record -q -M e16M -e cpu-clock -c 500000 -a --switch-events -o dump.data \
		--trigger busy:cpu-clock,count=50000000,within=1h -- \
		sh -c 'kill -USR2 $PPID; timeout 0.5 dd if=/dev/zero of=/dev/null bs=1M; true' || return
	perf report -i dump.data --header-only 2>/dev/null | sed -n 's/^# dumped because of : //p' >dump.reasons
	grep -q '^trigger busy: ' dump.reasons || complain "no dump of the trigger: $(<dump.reasons)" || return
	grep -q '^signal SIGUSR2$' dump.reasons || complain "no dump of the signal: $(<dump.reasons)"
}
