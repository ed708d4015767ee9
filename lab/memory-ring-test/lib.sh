# shellcheck shell=bash
# Shared by the tests of perf record -M; sourced after record-test's lib.sh.
# The programs are in $bin, the working directory is the test's own.

# -k makes perf use the clock of the truth table. perf script prints the CPU, too.
clock=(-k CLOCK_MONOTONIC --sample-cpu)
cycles=(-e cpu-clock -F "${FREQUENCY:-2000}")
fields=comm,pid,tid,cpu,time,ip,sym,dso

# ---- waiting

# wait_for SECONDS WHAT COMMAND... - until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1)) what=$2

	shift 2
	until "$@"; do
		((SECONDS < end)) || complain "waited in vain for $what" || return
		read -rt 0.02 <> <(:) || :
	done
}

# let_pass SECONDS - give the load time to do something
let_pass() {
	read -rt "$1" <> <(:) || :
}

size_of() {
	stat -c %s -- "$1" 2>/dev/null || echo 0
}

larger_than() {
	(($(size_of "$1") > $2))
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

end_all() {
	[[ ! ${load-} ]] || kill -TERM "$load"
	[[ ! ${recorder-} ]] || { kill -KILL "$recorder"; wait "$recorder"; }
} 2>/dev/null

# Each test is a subshell: processes that it leaves behind are ended with it.
end_with_test() {
	((!BASH_SUBSHELL)) || trap end_all EXIT
}

# ---- the load

# start_load ARG... - its process id goes into $load, its table into "truth"
start_load() {
	rm -f truth
	end_with_test
	"$bin/load" "$@" truth >load.log 2>&1 &
	load=$!
	wait_for 20 "the load" test -s truth
}

# entries - print the number of entries in the load's table
entries() {
	od -An -tu4 -j12 -N4 truth | tr -d ' '
}

more_entries() {
	(($(entries) > $1))
}

# let_work NUMBER - wait until the load has written NUMBER entries: five to ten a process
let_work() {
	wait_for 60 "the load" more_entries $(($(entries) + $1))
}

# soak_module - print a kernel module to be loaded and unloaded, if there is one
soak_module() {
	modinfo -n test_perf_nmi 2>/dev/null
}

# memory PID - print its anonymous memory in KiB
memory() {
	awk '/^RssAnon/ { print $2 }' "/proc/$1/status"
}

# peak_memory PID - print the most that it has had so far in KiB, with mapped files
peak_memory() {
	awk '/^VmHWM/ { print $2 }' "/proc/$1/status"
}

load_ends() {
	kill -TERM "$load" 2>/dev/null
	wait "$load" || complain "the load failed: $(tail -n 1 load.log)"
}

# ---- perf record

# start_record ARG... - process id into $recorder; wait until it records
start_record() {
	end_with_test
	rm -f ctl ack
	mkfifo ctl ack
	perf record "${clock[@]}" --control fifo:ctl,ack "$@" >record.log 2>&1 &
	recorder=$!
	ask ping || {
		head -n 15 record.log | sed 's/^/# /'
		complain "perf record $* does not record"
	}
}

# ask COMMAND [NUMBER] - send COMMAND once or NUMBER times, and wait for all answers of perf.
# Prints nothing; the times are in ask.log.
ask() {
	"$bin/ask" ctl ack "$1" "$recorder" "${2-1}" >ask.log 2>ask.err || {
		sed 's/^/# /' ask.err
		head -n 15 record.log | sed 's/^/# /'
		complain "perf did not acknowledge $1"
	}
}

# Requests a dump without waiting. The FIFO is opened for reading, too, so that the open
# doesn't wait for perf.
request() {
	echo snapshot 1<>ctl
}

# The answer to a snapshot comes when the dump is complete.
dump() {
	ask snapshot
}

# end_record [STATUS] - perf record must end with STATUS.
end_record() {
	local status=0

	wait_for 60 "the end of perf record" gone "$recorder" || {
		kill -KILL "$recorder"
		return 1
	}
	wait "$recorder" || status=$?
	((status == ${1:-0})) || {
		head -n 15 record.log | sed 's/^/# /'
		complain "perf record ended with $status"
	}
}

# Without a workload perf sends the signal to itself again.
stop_record() {
	kill -INT "$recorder" 2>/dev/null
	end_record 130
}

# said PATTERN [FILE] - perf record must have printed PATTERN.
said() {
	grep -qE -- "$1" "${2:-record.log}" || {
		sed 's/^/# /' "${2:-record.log}"
		complain "perf did not say '$1'"
	}
}

# ---- the content of a file

# samples_of FILE - into "samples"
samples_of() {
	perf script --ns -G -F "$fields" -i "$1" >samples 2>script.err || {
		sed 's/^/# /' script.err
		complain "perf script can't read $1"
	}
}

# check_samples ARG... - run the checker on "samples"
check_samples() {
	"$bin/check_samples" -e 5 "$@" truth <samples >check.log 2>&1 || {
		sed 's/^/# /' check.log
		complain "not as it should be"
	}
}

# right MIN [FILE] - at least MIN user samples of the load, with the limits that -M must meet
right() {
	samples_of "${2:-perf.data}" && check_samples -r 99.7 -w 0.049 -c 100 -n "$1"
}

number_of_samples() {
	grep -c . samples
}
