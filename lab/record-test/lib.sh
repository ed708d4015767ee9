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
trap 'rm -rf "$work"' EXIT

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

# ---- the runner

run_tests() {
	local -a names
	local name what number=0 failed=0 start

	mapfile -t names < <(grep -oE '^test_[a-z_]+\(\) \{ # .*' "$0" | grep -E "^test_($wanted)")
	if ((!${#names[@]})); then
		printf "Bail out! no test's name begins with '%s'\n" "$wanted"
		return 1
	fi
	printf '1..%d\n' "${#names[@]}"
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
		perf probe -q -d '*' 2>/dev/null
	done
	return "$failed"
}
