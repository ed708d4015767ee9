# shellcheck shell=bash
# What the scripts that try perf record -M share; sourced behind record-test's lib.sh.
# The programs are in $bin, the present directory is the test's own.

# -k makes perf's clock the one of the truth table. What is printed has the CPU.
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

# let_pass SECONDS - for the load to do something in
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

# Each test is a subshell: what it leaves behind when it fails ends with it.
end_with_test() {
	((!BASH_SUBSHELL)) || trap end_all EXIT
}

# ---- the load

# start_load ARG... - into $load, with its table in "truth"
start_load() {
	rm -f truth
	end_with_test
	"$bin/load" "$@" truth >load.log 2>&1 &
	load=$!
	wait_for 20 "the load" test -s truth
}

# entries - that the load's table has
entries() {
	od -An -tu4 -j12 -N4 truth | tr -d ' '
}

more_entries() {
	(($(entries) > $1))
}

# let_work NUMBER - of changes that the load writes down: five to ten a process
let_work() {
	wait_for 60 "the load" more_entries $(($(entries) + $1))
}

# soak_module - a module of the kernel to be loaded and unloaded, if there is one
soak_module() {
	modinfo -n test_perf_nmi 2>/dev/null
}

# memory PID - KiB of memory of its own, without what it shares with files
memory() {
	awk '/^RssAnon/ { print $2 }' "/proc/$1/status"
}

load_ends() {
	kill -TERM "$load" 2>/dev/null
	wait "$load" || complain "the load failed: $(tail -n 1 load.log)"
}

# ---- perf record

# start_record ARG... - into $recorder, until it records
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

# ask COMMAND [NUMBER] - of times, and wait for as many answers of perf. Prints nothing;
# the times are in ask.log.
ask() {
	"$bin/ask" ctl ack "$1" "$recorder" "${2-1}" >ask.log 2>ask.err || {
		sed 's/^/# /' ask.err
		head -n 15 record.log | sed 's/^/# /'
		complain "perf did not acknowledge $1"
	}
}

# Asks for a dump without waiting; for reading too, so that it doesn't wait for perf.
request() {
	echo snapshot 1<>ctl
}

# The answer to a snapshot comes when the dump is complete.
dump() {
	ask snapshot
}

# end_record [STATUS] - perf record must end with it.
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

# Without a workload perf passes the signal on to itself.
stop_record() {
	kill -INT "$recorder" 2>/dev/null
	end_record 130
}

# said PATTERN [FILE] - perf record said that.
said() {
	grep -qE -- "$1" "${2:-record.log}" || {
		sed 's/^/# /' "${2:-record.log}"
		complain "perf did not say '$1'"
	}
}

# ---- what is in a file

# samples_of FILE - into "samples"
samples_of() {
	perf script --ns -G -F "$fields" -i "$1" >samples 2>script.err || {
		sed 's/^/# /' script.err
		complain "perf script can't read $1"
	}
}

# judge ARG... - "samples"
judge() {
	"$bin/judge" -e 5 "$@" truth <samples >judge.log 2>&1 || {
		sed 's/^/# /' judge.log
		complain "not as it should be"
	}
}

# right MIN [FILE] - what -M must reach: at least MIN user samples of the load
right() {
	samples_of "${2:-perf.data}" && judge -r 99.7 -w 0.049 -c 100 -n "$1"
}

number_of_samples() {
	grep -c . samples
}
