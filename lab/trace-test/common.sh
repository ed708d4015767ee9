# shellcheck shell=bash
# shellcheck disable=SC2034  # used by the scripts that source it
# Shared by tests of the lab; sourced, never run. $bin is where the programs of
# lab/trace-test are.

programs=(loops branches indirect returns recursion syscalls signals exec fork strings flags long)

# command_of PROGRAM - sets command: the program and its arguments.
command_of() {
	command=("$bin/$1")
	case $1 in
	exec) command+=("$bin/indirect") ;;
	execs) command+=("$bin/moves") ;;
	esac
}

complain() {
	printf '# %s\n' "$*"
	return 1
}

# same WHAT EXPECTED - compares two lists, and shows the first difference.
same() {
	[[ -s $2 ]] || complain "$2 is empty" || return
	cmp -s -- "$1" "$2" || {
		diff -U4 -- "$2" "$1" | sed -n '1,30s/^/# /p'
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

# exits STATUS CMD... - the command must exit with it; what it prints goes into said.
exits() {
	local expected=$1 status=0

	shift
	"$@" >said 2>&1 || status=$?
	((status == expected)) || {
		sed 's/^/# /' said
		complain "exit status $status, not $expected: $*"
	}
}

# says WORDS - in what the last command of exits() printed
says() {
	grep -qF -- "$1" said || {
		sed 's/^/# /' said
		complain "not said: $1"
	}
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
