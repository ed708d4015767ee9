# shellcheck shell=bash
# Shared by the guest scripts of lab/record-test; sourced, never run.
# The first argument of each is the directory with the programs. The second selects
# tests: a regular expression for the beginning of their names, without test_.
#
# Each function test_* is a test; the comment after its name is its title. It runs in
# an empty directory of its own and fails with its first failing command.
set -uo pipefail

bin=$1
wanted=${2-}
work=$(mktemp -d)
# A failed test may have left a file system mounted there: keep out of it.
trap 'rm -rf --one-file-system "$work"' EXIT

# Tests that don't run unless "wanted" names them: in the virtual machine, those called long_,
# which take long there; everywhere, those called vm_, which change the whole system or need
# what only the virtual machine surely has.
left_out=vm
[[ ! -d /run/lab ]] || left_out='vm|long'

# ---- helpers

complain() {
	printf '# %s\n' "$*"
	return 1
}

# skip REASON - skip the test, because something that it needs is missing
skip() {
	printf '%s\n' "$*" >skipped
}

# A window is one piece only if the task stays on one CPU.
here=(taskset -c 1)

# Of the program wander, which moves from CPU to CPU between them.
moving_gates=(-e syscalls:sys_enter_sched_get_priority_max/aux-action=resume/
	-e syscalls:sys_enter_sched_get_priority_min/aux-action=pause/)

# record ARG... - perf record, quietly unless it fails.
record() {
	perf record "$@" >record.log 2>&1 || {
		sed 's/^/# /' record.log
		complain "perf record $*: exit status $?"
	}
}

# refused PATTERN ARG... - perf record must print PATTERN, fail, and leave no file.
refused() {
	local pattern=$1 status=0

	shift
	perf record "$@" -- true >refused.log 2>&1 || status=$?
	((status != 0)) || complain "exit status $status: perf record $*" || return
	[[ ! -e perf.data ]] || complain "a perf.data was left behind by perf record $*" || return
	grep -qE -- "$pattern" refused.log || {
		sed 's/^/# /' refused.log
		complain "no '$pattern' from perf record $*"
	}
}

probe() {
	perf probe "$@" >probe.log 2>&1 || {
		sed 's/^/# /' probe.log
		complain "perf probe $*: exit status $?"
	}
}

address_of() {
	nm "$bin/collatz" | awk -v name="$1" '$3 == name { print "0x" $1 }'
}

# ask COMMAND - and wait for perf record's answer. It comes once perf records and has done
# all earlier commands.
ask() {
	local answer=''

	echo "$1" >&"$ctl"
	read -rt 60 -u "$ack" answer
	[[ $answer == ack* ]] || complain "no answer from perf to $1"
}

# call_function - have the program call its function, and wait until it has returned.
call_function() {
	local answer=''

	printf c >&"$calls"
	read -rt 60 -N 1 -u "$returns" answer
	[[ $answer == c ]] || complain "no answer from the program"
}

control_fifos() {
	mkfifo ctl ack calls returns
	exec {ctl}<>ctl {ack}<>ack {calls}<>calls {returns}<>returns
}

snapshot_by_control() {
	ask snapshot && ask ping
}

# snapshots N ARG... - perf record -S of a program whose function is called N times, for
# $work_us or once each time. After each call, $request PID takes a snapshot.
snapshots() {
	local number=$1 pid status=0

	shift
	control_fifos
	perf record -S "$@" --control fifo:ctl,ack -- "${here[@]}" "$bin/on_demand" calls returns "${work_us-0}" \
		>record.log 2>&1 &
	pid=$!
	for ((; number && !status; number--)); do
		ask ping && call_function && "${request-snapshot_by_control}" "$pid" || status=1
	done
	printf q >&"$calls"
	wait "$pid" || complain "perf record $*: exit status $?" || return
	((!status)) || sed 's/^/# /' record.log
	return "$status"
}

on_demand_gates() {
	probe -x "$bin/on_demand" -a on_demand -a on_demand%return
	gates=(-e probe_on_demand:on_demand/aux-action=resume/
		-e probe_on_demand:on_demand__return/aux-action=pause/)
}

# of_area FIELD - the sum of what -vv says of the snapshots: new, overwritten or copied bytes
of_area() {
	awk -v field="$1" '/^AUX area [0-9]+: .* new, .* overwritten, .* copied$/ {
			for (i = 2; i <= NF; i++)
				if (substr($i, 1, length(field)) == field)
					sum += $(i - 1)
		}
		END { print sum + 0 }' record.log
}

# trace_bytes FILE... - of all snapshots in the files
trace_bytes() {
	local file size sum=0

	for file; do
		while read -r size; do
			sum=$((sum + size))
		done < <(perf report -D -i "$file" 2>/dev/null |
			grep -oP 'PERF_RECORD_AUXTRACE size: \K0x[0-9a-f]+')
	done
	printf '%d\n' "$sum"
}

# copied_all FILE... - what was new is in the files, once, and nothing else. Each snapshot in
# a file is padded to 8 bytes.
copied_all() {
	local new copied bytes number

	new=$(of_area new) copied=$(of_area copied) bytes=$(trace_bytes "$@")
	number=$(grep -c '^AUX area .* copied$' record.log)
	((new && new == copied && bytes >= copied && bytes < copied + 8 * number &&
		$(of_area overwritten) == 0)) ||
		complain "$new bytes were new, $copied copied, $bytes are in the files"
}

# ---- the runner

# probes - print those in the tests' own programs; in the virtual machine all
probes() {
	local group=.

	[[ -d /run/lab ]] || group="^probe_($(cd -- "$bin" && printf '%s|' *))$"
	awk -F '[:/ ]' -v group="$group" '$2 ~ group { print $2 ":" $3 }' \
		/sys/kernel/tracing/{u,k}probe_events 2>/dev/null
}

# A recording that has just ended can still have them open.
remove_probes() {
	local end=$((SECONDS + 10))
	local -a names

	while mapfile -t names < <(probes) && ((${#names[@]} && SECONDS < end)); do
		perf probe -q "${names[@]/#/--del=}" 2>/dev/null
	done
}

# run_tests FILE... - the tests in these scripts
run_tests() {
	local -a names
	local name what number=0 failed=0 start

	mapfile -t names < <(grep -ohE '^test_[a-z_]+\(\) \{ # .*' "$@" |
		if [[ $wanted ]]; then grep -E "^test_($wanted)"; else grep -vE "^test_($left_out)_"; fi)
	if ((!${#names[@]})); then
		printf "Bail out! no test's name begins with '%s'\n" "$wanted"
		return 1
	fi
	printf '1..%d\n' "${#names[@]}"
	remove_probes
	for what in "${names[@]}"; do
		name=${what%%()*} what=${what#*# } number=$((number + 1)) start=$SECONDS
		mkdir "$work/$name"
		if (cd "$work/$name" && "$name"); then
			printf 'ok %d %s (%d s)%s\n' "$number" "$what" $((SECONDS - start)) \
				"$(sed 's/^/ # SKIP /' "$work/$name/skipped" 2>/dev/null)"
		else
			printf 'not ok %d %s\n' "$number" "$what"
			failed=1
		fi
		remove_probes
	done
	return "$failed"
}
