# shellcheck shell=bash
# Dumps that events ask for. Sourced by lab/memory-ring-test/guest.

# start_with_probes ARG... - probes on request() of slow_calls, and a recording of all CPUs
start_with_probes() {
	probe -x "$bin/slow_calls" -a request -a request%return &&
		start_record "${cycles[@]}" -M 16M -a -e probe_slow_calls:request \
			-e probe_slow_calls:request__return "$@"
}

slow=slow:probe_slow_calls:request..probe_slow_calls:request__return,longer=50ms

# reasons_of FILE... - print why the dumps in them were made
reasons_of() {
	local file

	for file; do
		perf report --header-only -i "$file" 2>/dev/null |
			sed -n 's/^# dumped because of : //p'
	done
}

# each_once FILE... - each slow call of the load is a reason for a dump in them, and has
# its beginning there
each_once() {
	local file

	reasons_of "$@" >reasons
	for file; do
		perf script --ns --show-task-events -F tid,time,event -i "$file" 2>/dev/null
	done | awk '
		$3 == "probe_slow_calls:request:" { print $1, $2 }
		/PERF_RECORD_EXIT/ { print $1, $2, "exit" }' >entries
	awk -v slow=50 -f "$here_dir/triggers.awk" calls reasons entries >check.log || {
		sed 's/^/# /' check.log
		complain "not each slow call once"
	}
}

test_trigger_slow() { # --trigger: each slow call of threads that move, once, and no fast one
	start_with_probes --trigger "$slow" || return
	"$bin/slow_calls" 150 50 2 >calls || return
	ask ping && stop_record && said 'Trigger slow fired [1-9]' && each_once perf.data
}

test_vm_trigger_one_buffer() { # --trigger, --one-buffer: the same
	start_with_probes -v --one-buffer --trigger "$slow" || return
	"$bin/slow_calls" 150 50 2 >calls || return
	ask ping && stop_record && said ' 1 buffers' && said 'Trigger slow fired [1-9]' &&
		each_once perf.data
}

test_trigger_files() { # --trigger: the name is part of the file's, and no call is in two
	start_with_probes --trigger "$slow" --switch-output=signal || return
	"$bin/slow_calls" 60 30 1 >calls || return
	ask ping && stop_record && each_once perf.data.2*.slow
}

test_trigger_exit() { # --trigger: threads that end at once, and in the middle of calls
	local name=end:sched:sched_process_exit,count=20,within=60s

	start_record "${cycles[@]}" -M 4M -a -e sched:sched_process_exit --trigger "$name" &&
		start_load "${some[@]}" || return
	wait "$load"
	ask ping && stop_record && said 'Trigger end fired ([2-9]|[1-9][0-9]+) times' || return
	reasons_of perf.data >reasons
	grep -q 'trigger end: .*: 20 times, thread [0-9]*/[0-9]* on CPU' reasons ||
		complain "no reason: $(<reasons)"
}

test_vm_trigger_clock() { # --trigger: the clock is set back, and what occurred before doesn't count
	local -a clock=(-k CLOCK_REALTIME --sample-cpu)

	only_in_vm "it sets the clock" || return
	# Each CPU has a thousand samples a second. Tracepoints can't have this clock.
	start_record -e cpu-clock -c 1000000 -M 4M -a --max-dumps 1 \
		--trigger "often:cpu-clock,count=$((3000000000 * $(nproc))),within=30s" || return
	let_pass 1.5
	date -s '-1 hour' >/dev/null
	wait_for 30 "the dump" grep -q 'trigger often' record.log
	date -s '+1 hour' >/dev/null
	stop_record && said 'clock was set back by 3[56]' || return
	# From the first of them to the last it is nearly all of the 3 s.
	reasons_of perf.data | awk '{
		match($0, / at [0-9.]+, since [0-9.]+$/)
		split(substr($0, RSTART), words)
		if (words[2] - words[4] >= 2 && words[2] - words[4] <= 30)
			good++
	} END { exit good != 1 || NR != 1 }' || complain "$(reasons_of perf.data)"
}

test_trigger_crash() { # --trigger: a process that ends with a signal, and no other
	start_record "${cycles[@]}" -M 4M -a -e signal:signal_deliver \
		--filter 'sig == 11 && sa_handler == 0' \
		--trigger crash:signal:signal_deliver || return
	sh -c 'kill -TERM $$' 2>/dev/null
	sh -c 'kill -SEGV $$' 2>/dev/null
	wait_for 20 "the dump" grep -q 'trigger crash' record.log || return
	stop_record && said 'Trigger crash fired 1 times' || return
	(($(reasons_of perf.data | wc -l) == 1)) || complain "$(reasons_of perf.data)"
}

test_trigger_storm() { # --trigger: a storm makes few dumps, and what it held back is counted
	start_record "${cycles[@]}" -M 4M -a -e sched:sched_switch --dump-interval 1 --max-dumps 2 \
		--switch-output=signal --trigger storm:sched:sched_switch || return
	"$bin/pairs" 1000 4 >/dev/null && stop_record || return
	(($(grep -c 'Dump perf.data' record.log) == 2)) || complain "$(<record.log)" || return
	said 'Because of [0-9]+ more of storm' && said 'Trigger storm fired [0-9]{3}' &&
		said 'Held back: [1-9][0-9]* dumps had to wait.*, [1-9][0-9]* requests' || return
	# The list of reasons stays bounded.
	(($(reasons_of perf.data.2*.storm | wc -l) <= 2 * 65)) ||
		complain "$(reasons_of perf.data.2* | wc -l) reasons"
}

made_dumps() {
	(($(grep -c 'Dump perf.data' record.log) >= $1))
}

test_trigger_beside_storm() { # --trigger: a storm of one trigger doesn't hide another's reason
	start_record "${cycles[@]}" -M 4M -a -e sched:sched_switch -e signal:signal_deliver \
		--filter 'sig == 51' --dump-interval 4 --switch-output=signal \
		--trigger storm:sched:sched_switch --trigger usr:signal:signal_deliver || return
	wait_for 20 "the first dump" grep -q 'Dump perf.data' record.log || return
	# The storm has filled its list by then
	let_pass 1
	sh -c 'trap : 51; kill -51 $$'
	wait_for 20 "the second dump" made_dumps 2 && stop_record || return
	reasons_of perf.data.2* >reasons
	(($(grep -c 'trigger usr: ' reasons) == 1)) ||
		complain "$(grep -c . reasons) reasons, but usr: $(grep -c 'trigger usr: ' reasons)" || return
	grep -q '[0-9] more of storm' reasons || complain "no storm: $(head -n 3 reasons)"
}

test_trigger_full_disk() { # --trigger: a full disk delays that dump, and doesn't lose its reason
	FAULT=full LD_PRELOAD=$bin/faults.so start_record "${cycles[@]}" -M 16M -a \
		-e signal:signal_deliver --filter 'sig == 51' \
		--trigger usr:signal:signal_deliver --max-dumps 1 --switch-output=signal || return
	touch full
	sh -c 'trap : 51; kill -51 $$'
	wait_for 20 "the failure" grep -q 'No space left.*to try it again' record.log && rm full || return
	wait_for 20 "the dump" grep -q 'Dump perf.data' record.log && stop_record || return
	reasons_of perf.data.2*.usr >reasons
	(($(wc -l <reasons) == 1 && $(grep -c ' (try 2)$' reasons) == 1)) || complain "$(<reasons)"
}

test_trigger_full_disk_long() { # --trigger: a disk that stays full isn't tried forever; the next dump says why
	FAULT=full LD_PRELOAD=$bin/faults.so start_record "${cycles[@]}" -M 16M -a \
		-e signal:signal_deliver --filter 'sig == 51' \
		--trigger usr:signal:signal_deliver || return
	touch full
	sh -c 'trap : 51; kill -51 $$'
	wait_for 60 "the last try" grep -q 'No space left.*kept for the next dump' record.log || return
	let_pass 8
	(($(grep -c 'No space left' record.log) == 5)) || complain "$(<record.log)" || return
	rm full
	dump && stop_record || return
	reasons_of perf.data >reasons
	(($(wc -l <reasons) == 2 && $(grep -c 'trigger usr: .* (try 6)$' reasons) == 1 &&
		$(grep -c '^snapshot$' reasons) == 1)) || complain "$(<reasons)"
}

# no_false_call FILE - slow_calls has made fast calls, but for those that a busy machine made
# slow: only these may fire the trigger
no_false_call() {
	local fired

	fired=$(sed -n 's/.*Trigger slow fired \([0-9]*\) times.*/\1/p' record.log)
	((fired <= $(wc -l <calls))) ||
		complain "fired $fired times, with $(wc -l <calls) slow calls" || return
	(($(perf script -F event -i "$1" 2>/dev/null | grep -c request__return) > 30)) ||
		complain "no calls in $1"
}

test_trigger_one_cpu() { # --trigger, -C: calls that begin on that CPU, wherever they return
	start_with_probes -C 0 --trigger "$slow" || return
	"$bin/slow_calls" 100 1000 2 >calls || return
	dump && stop_record && no_false_call perf.data || return
	rm perf.data
	start_record "${cycles[@]}" -M 16M -C 0 -e probe_slow_calls:request \
		-e probe_slow_calls:request__return --trigger "$slow" || return
	"$bin/slow_calls" 40 10 1 >calls || return
	dump && stop_record && said 'Trigger slow fired [1-9]' || return
	# Other events are of that CPU alone
	! perf script -F cpu,event -i perf.data 2>/dev/null | grep cpu-clock | grep -v -m 3 '\[000\]' ||
		complain "samples of other CPUs"
}

test_trigger_exec() { # --trigger: a thread that has another number after exec isn't slow
	local pair=syscalls:sys_enter_execve..syscalls:sys_exit_execve pid

	start_record -e cpu-clock -M 4M -a -e syscalls:sys_enter_execve -e syscalls:sys_exit_execve \
		--trigger "slow:$pair,longer=700ms" || return
	python3 -c 'import os, threading, time
threading.Thread(target=os.execv, args=("/bin/sleep", ["sleep", "1.5"])).start()
time.sleep(60)' &
	pid=$!
	wait "$pid" && dump && stop_record || return
	# Another program's exec may be slow on a busy machine.
	! grep "trigger slow: .* thread $pid/" record.log || complain "the exec counts as slow" || return
	perf script -F event -i perf.data 2>/dev/null | grep sys_enter_execve >execs
	[[ -s execs ]] || complain "no exec"
}

test_trigger_namespace() { # --trigger: threads without a number in perf's PID namespace aren't mixed up
	probe -x "$bin/slow_calls" -a request -a request%return || return
	end_with_test
	mkfifo ctl ack go
	unshare --pid --fork --kill-child --mount-proc perf record "${clock[@]}" -e cpu-clock \
		-M e16M -a --control fifo:ctl,ack \
		-e probe_slow_calls:request -e probe_slow_calls:request__return \
		--trigger "$slow" -- sh -c 'read -r line <go' >record.log 2>&1 &
	recorder=$!
	ask ping && "$bin/slow_calls" 50 1000 3 >calls || return
	echo >go
	wait "$recorder" && no_false_call perf.data &&
		said 'ignored [1-9][0-9]* events of threads outside'
}

test_trigger_refused() { # --trigger: what can't be one is refused, with the reason
	refuses "isn't recorded: add -e no:such" -e cpu-clock -M 1M --trigger x:no:such &&
		refuses 'is not a name' -e cpu-clock -M 1M --trigger :cpu-clock &&
		refuses 'need -M or -S' -e cpu-clock --trigger x:cpu-clock
}

test_max_dumps() { # --max-dumps: then requests are refused, and there is none at exit
	start_record "${cycles[@]}" -M e4M -a --max-dumps 2 && dump && dump || return
	! dump >/dev/null || complain "the third dump was acknowledged" || return
	grep -q 'nack .*--max-dumps' ask.log ask.err || complain "$(cat ask.log ask.err)" || return
	stop_record && said 'Memory ring: 2 dumps' && said ' 1 requests came after --max-dumps'
}

# covers FILE SECONDS - the samples in FILE are of no longer than that
covers() {
	perf script --ns -G -F time -i "$1" 2>/dev/null | tr -d ' :' |
		awk -v max="$2" 'NR == 1 || $1 < first { first = $1 } $1 > last { last = $1 }
			END { print last - first; exit !NR || last - first > max }' >covered ||
		complain "$1 covers $(<covered) s"
}

test_span() { # -M SIZE,TIME, and 'snapshot TIME LABEL': only the newest samples
	local name label

	start_record "${cycles[@]}" -M 16M,2s -a --switch-output=signal &&
		start_load "${processes[@]}" || return
	sleep 4
	ask snapshot && read -r _ _ name label <ask.log && mv "$name" all || return
	sleep 2
	ask 'snapshot 1s last/one' && read -r _ _ name label <ask.log || return
	load_ends && stop_record || return
	[[ $name == *.last_one && $label == last/one ]] || complain "$name, $label" || return
	covers all 2 && covers "$name" 1 && right 25 all && right 10 "$name" &&
		said ' [1-9][0-9]* dropped by the ring' || return
	! covers all 1.5 >/dev/null || complain "all covers less than asked for"
}
