#!/bin/sh
# perf record dumps the newest events when an event asks for it
# SPDX-License-Identifier: GPL-2.0
#
# Expected: a trigger fires when its condition is met, and then only, also for a call that
# doesn't return, and for a program that asks on the socket; message and header of the dump
# say why; what can't be a trigger is refused before anything starts. Buggy: no dump, one
# too many, or one without its reason.

err=0
dir=$(mktemp -d /tmp/perf-dump-triggers.XXXXXX)
data=$dir/perf.data
socket=$dir/socket
recorders=

# Other users reach the socket, but see nothing else
chmod 711 "$dir"

cleanup() {
	trap - EXIT TERM INT
	for pid in $recorders; do
		kill -KILL "$pid" 2>/dev/null
	done
	[ ! -e "$dir/daemon.conf" ] || perf daemon stop --config "$dir/daemon.conf" 2>/dev/null
	rm -rf "$dir"
}

trap_cleanup() {
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$1 [Failed: $2]"
	[ ! -e "$dir/log" ] || cat "$dir/log"
	err=1
}

# record OPTION... -- COMMAND
record() {
	rm -f "$data"*
	perf record -M 4M -o "$data" "$@" > "$dir/log" 2>&1
}

fired() {
	grep -q "Trigger $1 fired $2 times" "$dir/log"
}

reasons() {
	perf report -i "$1" --header-only 2>/dev/null | grep 'dumped because of'
}

# wait_for SECONDS COMMAND... - until it succeeds
wait_for() {
	tenths=$(($1 * 10))
	shift
	until "$@"; do
		[ $tenths -gt 0 ] || return 1
		tenths=$((tenths - 1))
		sleep 0.1
	done
}

# start OPTION... - a recording that goes on; its process id is in $recorder
start() {
	rm -f "$data"*
	perf record -M 4M -o "$data" "$@" -- sleep 100 > "$dir/log" 2>&1 &
	recorder=$!
	recorders="$recorders $recorder"
}

# stop [LOG] - perf has to end as usual, whatever the programs on the socket do
stop() {
	kill -INT "$recorder"
	wait "$recorder" 2>/dev/null
	grep -q 'Memory ring: ' "${1:-$dir/log}"
}

# Half a second that is busy, on any machine: each sample stands for 50 us of CPU time
busy="sh $dir/busy"
cat > "$dir/busy" <<-END
	timeout 0.5 dd if=/dev/zero of=/dev/null bs=1M 2> /dev/null
	exit 0
END

test_count() {
	# shellcheck disable=SC2086  # several words
	if ! record -e cpu-clock -c 50000 --trigger "busy:cpu-clock,count=2500000,within=10s" \
		--max-dumps 1 -- $busy || ! grep -q "Dump $data" "$dir/log"; then
		fail "An event that occurs often" "no dump"
		return
	fi
	reasons "$data" | grep -q 'busy: cpu-clock,count=2500000,within=10s: .* times, thread' || {
		fail "An event that occurs often" "the header doesn't say why"
		return
	}
	perf script -i "$data" --header-only 2>/dev/null |
		grep -q 'dumped because of : trigger busy' || {
		fail "An event that occurs often" "perf script --header doesn't say why"
		return
	}
	record -e cpu-clock -c 50000 --trigger "busy:cpu-clock,count=1000000000000,within=1h" \
		-- sleep 0.1
	if ! fired busy 0 || [ -n "$(reasons "$data")" ]; then
		fail "An event that occurs often" "a dump, though it didn't"
		return
	fi
	echo "An event that occurs often [Success]"
}

test_slow() {
	entry=syscalls:sys_enter_clock_nanosleep
	exit=syscalls:sys_exit_clock_nanosleep
	perf record -e $entry -o "$data" true > /dev/null 2>&1 || {
		echo "A slow system call [Skip: no tracepoints]"
		return
	}
	record -e $entry -e $exit --trigger "slow:$entry..$exit,longer=900ms" -- \
		sh -c 'for i in 1 2 3 4 5 6; do sleep 0.01; done; sleep 1; sleep 0.02; sleep 1.1'
	[ "$(reasons "$data" | grep -c 'trigger slow: .* ms.*, thread .*, since ')" -eq 2 ] || {
		fail "A slow system call" "not two of them in the header"
		return
	}
	echo "A slow system call [Success]"
}

# A call that doesn't return while perf records
test_open() {
	entry=syscalls:sys_enter_clock_nanosleep
	exit=syscalls:sys_exit_clock_nanosleep
	perf record -e $entry -o "$data" true > /dev/null 2>&1 || {
		echo "A call that doesn't return [Skip: no tracepoints]"
		return
	}
	start -e $entry -e $exit --trigger "slow:$entry..$exit,longer=500ms"
	if ! wait_for 10 grep -q 'trigger slow: ' "$dir/log"; then
		fail "A call that doesn't return" "no dump while it is open"
		return
	fi
	sleep 1
	if ! stop || ! fired slow 1 ||
	   ! reasons "$data" |
	     grep -q 'trigger slow: .*: [5-9][0-9][0-9]\..* ms so far, thread'; then
		fail "A call that doesn't return" \
		     "not once, or not at its limit: $(reasons "$data")"
		return
	fi
	echo "A call that doesn't return [Success]"
}

ends_on_cpu_1() {
	taskset -c 1 true
	grep -q 'trigger end: .* on CPU 1 at' "$dir/log"
}

# perf runs on another CPU than the thread, which ends at once
test_other_cpu() {
	if ! perf record -e sched:sched_process_exit -o "$data" true > /dev/null 2>&1 ||
	   ! taskset -c 0 true 2>/dev/null || ! taskset -c 1 true 2>/dev/null; then
		echo "An event on another CPU [Skip: no tracepoints, or not two CPUs]"
		return
	fi
	start -e sched:sched_process_exit -a --trigger end:sched:sched_process_exit
	taskset -p -c 0 "$recorder" > /dev/null
	if ! wait_for 10 ends_on_cpu_1 || ! stop; then
		fail "An event on another CPU" "no dump"
		return
	fi
	echo "An event on another CPU [Success]"
}

# ask NAME [SOCKET [UID]] - write NAME to the socket, print the answer
ask() {
	perl -MIO::Socket::UNIX -e '
		$> = $ARGV[2] if $ARGV[2];
		my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "connect: $!\n";
		$s->print("$ARGV[1]\n");
		$s->flush;
		print $s->getline' "${2:-$socket}" "$1" "${3:-0}" 2>&1
}

has_perl() {
	perl -MIO::Socket::UNIX -e 1 2>/dev/null || {
		echo "$1 [Skip: no perl]"
		return 1
	}
}

answers() {
	says=$1
	shift
	ask "$@" > "$dir/answer"
	grep -q "$says" "$dir/answer"
}

test_socket() {
	has_perl "A program that asks" || return
	start -e cpu-clock -k CLOCK_MONOTONIC --trigger app:socket --trigger two:socket \
		--trigger often:cpu-clock,count=1000000000000,within=1h \
		--trigger-socket "$socket,mode=666"
	if ! wait_for 10 test -S "$socket" || ! answers '^ack app$' app ||
	   ! answers '^nack there is no such trigger' often ||
	   ! answers '^nack there is no such trigger' none; then
		fail "A program that asks" "$(cat "$dir/answer")"
		return
	fi
	wait_for 10 grep -q 'trigger app: socket: process [0-9]* of user [0-9]* at' "$dir/log" || {
		fail "A program that asks" "no dump, or no reason"
		return
	}
	if [ "$(id -u)" -eq 0 ]; then
		answers '^ack two$' two "$socket" 65534
		wait_for 10 grep -q 'trigger two: .* of user 65534' "$dir/log" || {
			fail "A program that asks" "not for another user"
			return
		}
	fi
	if ! stop || ! fired app 1 || ! fired often 0 ||
	   ! grep -q "refused 'none' of process .*: there is no such" "$dir/log" ||
	   ! grep -q 'Trigger socket: [12] requests granted, 2 refused' "$dir/log" ||
	   ! reasons "$data" | grep -q 'trigger app: socket: process' || [ -e "$socket" ]; then
		fail "A program that asks" "not as it should be at the end"
		return
	fi
	echo "A program that asks [Success]"
}

dumped() {
	grep -q 'Because of trigger app' "$dir/log"
}

# After the last dump a program is told that there is none
test_socket_enough() {
	has_perl "A program that asks too late" || return
	start -e cpu-clock --trigger app:socket --trigger-socket "$socket" --max-dumps 1
	if ! wait_for 10 test -S "$socket" || ! answers '^ack app$' app || ! wait_for 10 dumped ||
	   ! answers '^nack .*--max-dumps' app || ! stop || ! fired app 1 ||
	   ! grep -q ' 1 requests came after --max-dumps' "$dir/log"; then
		fail "A program that asks too late" "$(cat "$dir/answer")"
		return
	fi
	echo "A program that asks too late [Success]"
}

# Who may not write to the file may not ask
test_socket_rights() {
	has_perl "A program that may not ask" || return
	[ "$(id -u)" -eq 0 ] || {
		echo "A program that may not ask [Skip: not root]"
		return
	}
	start -e cpu-clock --trigger app:socket --trigger-socket "$socket"
	if ! wait_for 10 test -S "$socket" || ! answers 'Permission denied' app "$socket" 65534 ||
	   ! answers '^ack app$' app || ! stop || ! fired app 1; then
		fail "A program that may not ask" "$(cat "$dir/answer")"
		return
	fi
	echo "A program that may not ask [Success]"
}

# Programs that write nothing, or flood it, keep neither perf nor others waiting
test_socket_silent() {
	has_perl "Silent programs" || return
	start -e cpu-clock --trigger app:socket --trigger-socket "$socket"
	wait_for 10 test -S "$socket"
	perl -MIO::Socket::UNIX -e '
		my @s = map { IO::Socket::UNIX->new(Peer => $ARGV[0]) } 1 .. 100;
		open my $ready, ">", $ARGV[1];
		close $ready;
		sleep 100' "$socket" "$dir/ready" &
	silent=$!
	recorders="$recorders $silent"
	# The silent ones have used up the requests of this user for some seconds
	if ! wait_for 10 test -e "$dir/ready" ||
	   ! wait_for 20 answers '^ack app$' app || ! stop || ! fired app 1; then
		fail "Silent programs" "$(cat "$dir/answer")"
	else
		echo "Silent programs [Success]"
	fi
	kill "$silent"
	wait "$silent" 2>/dev/null
}

# Each session has a socket of its own, and doesn't take another's
test_socket_sessions() {
	has_perl "Several sessions" || return
	start -e cpu-clock --trigger app:socket --trigger-socket "$socket"
	first=$recorder
	wait_for 10 test -S "$socket"
	perf record -M 4M -o "$dir/other" -e cpu-clock --trigger app:socket \
		--trigger-socket "$socket" -- true > "$dir/refused" 2>&1
	if ! grep -q 'socket of a running program' "$dir/refused" || [ -s "$dir/other" ]; then
		fail "Several sessions" "the second one isn't refused"
		return
	fi
	perf record -M 4M -o "$dir/other" -e cpu-clock --trigger app:socket \
		--trigger-socket "$socket.2" -- sleep 100 > "$dir/log2" 2>&1 &
	recorder=$!
	recorders="$recorders $recorder"
	if ! wait_for 10 test -S "$socket.2" || ! answers '^ack app$' app "$socket.2" ||
	   ! wait_for 10 grep -q 'trigger app' "$dir/log2" || ! stop "$dir/log2" ||
	   ! answers '^ack app$' app; then
		fail "Several sessions" "the second one doesn't answer, or the first"
		return
	fi
	# One that is killed leaves a file, which the next one replaces
	kill -KILL "$first"
	wait "$first" 2>/dev/null
	[ -S "$socket" ] || fail "Several sessions" "no file is left"
	start -e cpu-clock --trigger app:socket --trigger-socket "$socket"
	if ! wait_for 10 answers '^ack app$' app || ! stop || ! fired app 1; then
		fail "Several sessions" "the file that was left isn't replaced"
		return
	fi
	echo "Several sessions [Success]"
}

# daemon COMMAND...
daemon() {
	command=$1
	shift
	perf daemon "$command" --config "$dir/daemon.conf" "$@"
}

daemon_answers() {
	daemon ping --session ring 2>/dev/null | grep -q OK
}

dumps_of_daemon() {
	[ "$(grep -c 'Dump ' "$dir/base/session-ring/output" 2>/dev/null)" -eq "$1" ]
}

test_daemon() {
	options="--switch-output=signal --trigger app:socket --trigger-socket $socket"

	mkdir "$dir/base"
	cat > "$dir/daemon.conf" <<-END
		[daemon]
		base=$dir/base
		[session-ring]
		run = -M 4M -e cpu-clock -o $data $options -- sleep 100
		[session-other]
		run = -M 4M -e cpu-clock -o $dir/other-data -- sleep 100
	END
	rm -f "$data"*
	daemon start > "$dir/log" 2>&1
	if ! wait_for 20 daemon_answers || ! daemon signal --session ring > "$dir/log" 2>&1 ||
	   ! wait_for 10 dumps_of_daemon 1; then
		fail "perf daemon" "no dump for perf daemon signal"
	elif [ -s "$dir/base/session-other/output" ] &&
	     grep -q Dump "$dir/base/session-other/output"; then
		fail "perf daemon" "a dump of another session"
	elif perl -MIO::Socket::UNIX -e 1 2>/dev/null &&
	     { ! answers '^ack app$' app || ! wait_for 10 dumps_of_daemon 2 ||
	       [ "$(find "$dir" -name 'perf.data.*.app' | wc -l)" -ne 1 ]; }; then
		fail "perf daemon" "no dump for a program that asks"
	else
		echo "perf daemon [Success]"
	fi
	daemon stop > /dev/null 2>&1
	[ $err -eq 0 ] || cat "$dir/base/session-ring/output"
	rm "$dir/daemon.conf"
}

# Each sample fires it: the dumps are few, and what is held back is counted. The load goes on
# until there are two, and then for requests that are refused.
test_storm() {
	record -e cpu-clock -c 50000 --trigger storm:cpu-clock --dump-interval 1 --max-dumps 2 -- \
		sh -c "until [ \$(grep -c 'Dump $data' $dir/log) -ge 2 ]; do $busy; done; $busy"
	if [ "$(grep -c "Dump $data" "$dir/log")" -ne 2 ] ||
	   ! grep -q 'Because of [0-9]* more' "$dir/log" ||
	   ! grep -q 'Held back: [1-9][0-9]* dumps had to wait.*, [1-9][0-9]* requests' \
		  "$dir/log" ||
	   [ "$(reasons "$data" | wc -l)" -gt 130 ]; then
		fail "A storm" "not two dumps of all its reasons"
		return
	fi
	echo "A storm [Success]"
}

# refused TEXT OPTION...
refused() {
	says=$1
	shift
	rm -f "$data"
	perf record -e cpu-clock -o "$data" "$@" -- true > "$dir/log" 2>&1 && return 1
	grep -q -e "$says" "$dir/log" && [ ! -s "$data" ]
}

test_refused() {
	refused 'isn.t recorded: add -e no:such' -M 1M --trigger 'x:no:such' &&
		refused 'is not a name' -M 1M --trigger ':cpu-clock' &&
		refused 'needs longer=TIME' -M 1M --trigger 'x:cpu-clock..b' &&
		refused 'is not a time' -M 1M --trigger 'x:cpu-clock,count=2,within=1' &&
		refused 'another one called' -M 1M --trigger 'x:cpu-clock' --trigger x:cpu-clock &&
		refused 'need -M or -S' --trigger 'x:cpu-clock' &&
		refused 'need -M or -S' --trigger-socket "$socket" &&
		refused 'used with --aio' -S --trigger 'x:cpu-clock' --aio &&
		refused 'used with --dump-files without -M' -S --trigger 'x:cpu-clock' \
			--dump-files space=1M &&
		refused 'max-dumps needs -M, or -S with --trigger' -S --max-dumps 1 &&
		refused 'dump-interval needs -M, or -S with --trigger' -S --dump-interval 1 &&
		refused 'add --trigger-socket' -M 1M --trigger 'x:socket' &&
		refused 'add --trigger-socket' -M 1M --trigger 'x:socket' \
			--trigger-socket "$socket" --no-trigger-socket &&
		refused 'add --trigger NAME:socket' -M 1M --trigger-socket "$socket" &&
		refused 'no group' -M 1M --trigger 'x:socket' \
			--trigger-socket "$socket,group=no:" &&
		refused 'failed to make' -M 1M --trigger 'x:socket' \
			--trigger-socket "$dir/no/x" || {
		fail "Bad triggers" "one is not refused, or without its reason"
		return
	}
	echo "Bad triggers [Success]"
}

test_names() {
	# shellcheck disable=SC2086  # several words
	record -e cpu-clock -c 50000 --trigger "busy:cpu-clock,count=2500000,within=10s" \
		--switch-output=signal --max-dumps 2 -- $busy
	files=$(find "$dir" -name 'perf.data.*.busy' | wc -l)
	if [ "$files" -lt 1 ] || [ "$files" -gt 2 ]; then
		fail "A file for each dump" "$files files"
		return
	fi
	echo "A file for each dump [Success]"
}

test_count
test_slow
test_open
test_other_cpu
test_storm
test_names
test_socket
test_socket_enough
test_socket_rights
test_socket_silent
test_socket_sessions
test_daemon
test_refused

cleanup
exit $err
