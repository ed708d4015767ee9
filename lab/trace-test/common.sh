# shellcheck shell=bash
# shellcheck disable=SC2034  # used by the scripts that source it
# Shared by the scripts of lab/trace-test; sourced, never run. $bin is where the
# programs are.

programs=(loops branches indirect returns recursion syscalls signals exec fork strings flags long)

# command_of PROGRAM - sets command: the program and its arguments.
command_of() {
	command=("$bin/$1")
	[[ $1 != exec ]] || command+=("$bin/indirect")
}

complain() {
	printf '# %s\n' "$*"
	return 1
}

# same WHAT EXPECTED - compares two lists, and shows the first difference.
same() {
	[[ -s $2 ]] || complain "$2 is empty" || return
	cmp -s -- "$1" "$2" || {
		diff -U4 -- "$2" "$1" | head -n 30 | sed 's/^/# /'
		complain "$1 is not $2: $(wc -l <"$1") and $(wc -l <"$2") lines"
	}
}

# single_step PROGRAM LIST - runs it instruction by instruction. The programs "flags" and
# "bits32" can see the trap flag of single-stepping.
single_step() {
	local status=0 expected=0
	local -a command

	command_of "$1"
	[[ $1 != flags && $1 != bits32 ]] || expected=1
	"$bin/step_list" "${command[@]}" >"$2" || status=$?
	((status == expected)) || complain "step_list $1: exit status $status, not $expected"
}

# tap NUMBER WHAT CMD... - runs a test; its output, if any, is the reason for a failure.
tap() {
	local number=$1 what=$2

	shift 2
	if "$@"; then
		printf 'ok %d %s\n' "$number" "$what"
	else
		printf 'not ok %d %s\n' "$number" "$what"
		failed=1
	fi
}
