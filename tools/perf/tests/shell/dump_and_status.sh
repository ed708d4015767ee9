#!/bin/sh
# perf dump and perf status
# SPDX-License-Identifier: GPL-2.0
#
# Expected: perf dump prints a file with the time and reason that it asked for; perf status
# counts it; whatever can't be done has its own exit code, and a message that says what to
# do. Buggy: a dump without its reason, a message about something else, or a hang.

err=0
dir=$(mktemp -d /tmp/perf-dump-status.XXXXXX)
data=$dir/perf.data
socket=$dir/socket
recorder=
busy=
keep=

# Other users reach the socket, but see nothing else
chmod 711 "$dir"

cleanup() {
	trap - EXIT TERM INT
	for pid in $recorder $busy; do
		kill -KILL "$pid" 2>/dev/null
		# Else the shell reports that it was killed
		wait "$pid" 2>/dev/null
	done
	[ ! -e "$dir/daemon.conf" ] || perf daemon stop --config "$dir/daemon.conf" 2>/dev/null
	[ ! -d "$dir/small" ] || umount "$dir/small" 2>/dev/null
	rm -rf "$dir"
}

trap_cleanup() {
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$1 [Failed: $2]"
	for file in "$dir/log" "$dir/out" "$dir/says"; do
		[ ! -e "$file" ] || sed "s|^|  ${file##*/}: |" "$file"
	done
	err=1
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

# start OPTION... - a recording that goes on
start() {
	[ -n "$keep" ] || rm -f "$data"*
	perf record -M 4M -o "$data" -e cpu-clock --trigger dump:socket --trigger app:socket \
		--trigger-socket "$socket" "$@" -- sleep 1000 > "$dir/log" 2>&1 &
	recorder=$!
	wait_for 20 test -S "$socket"
}

stop() {
	kill -INT "$recorder"
	wait "$recorder" 2>/dev/null
	recorder=
}

# exits CODE TEXT COMMAND... - and says TEXT on standard error
exits() {
	wanted=$1
	says=$2
	shift 2
	"$@" > "$dir/out" 2> "$dir/says"
	got=$?
	[ $got -eq "$wanted" ] && { [ -z "$says" ] || grep -q -e "$says" "$dir/says"; } && return
	echo "  exit code $got, not $wanted with '$says': $*"
	return 1
}

dump() {
	perf dump --socket "$socket" "$@"
}

status() {
	perf status --socket "$socket" "$@"
}

# What is sampled: the recording has no work of its own
work() {
	sh -c 'while :; do :; done' &
	busy=$!
}

test_dump() {
	start -a --switch-output=signal || { fail "A dump" "perf record doesn't start"; return; }
	sleep 1.5
	if ! exits 0 '[1-9][0-9]* samples of 0\.[0-9]* s, .* MB, [0-9]* lost' \
		dump 500ms it was slow; then
		fail "A dump" "no dump"
		return
	fi
	file=$(cat "$dir/out")
	case $file in
	"$data".*.it_was_slow) ;;
	*) fail "A dump" "the path has no reason: $file"; return ;;
	esac
	if ! perf report -i "$file" --header-only 2>/dev/null |
	     grep -q "trigger dump: socket: process [0-9]* of user $(id -u).*: it was slow"; then
		fail "A dump" "the header has no reason"
	elif ! perf script -i "$file" -F comm 2>/dev/null | grep -q '^ *sh'; then
		fail "A dump" "what has run is not in it"
	elif ! exits 0 '' dump -q --trigger app || [ -s "$dir/says" ] ||
	     [ ! -s "$(cat "$dir/out")" ]; then
		fail "A dump" "of another trigger"
	else
		echo "A dump [Success]"
	fi
}

# lines of the metrics of the recording of test_dump
test_status() {
	if ! exits 0 '' status; then
		fail "The status" "none"
		return
	fi
	for line in "^running: *process $recorder since 20.* s of CPU time" \
		    '^ring: .* s, [0-9]* samples, .* of 4\.0 MB' \
		    '^recorded: *[1-9][0-9]* samples, [0-9]* lost' \
		    '^side-band: *[0-9.]* MB, [1-9][0-9]* records, 0 dropped' \
		    '^dumps: *2 (trigger dump: 1, trigger app: 1), 0 failed' \
		    "^  20.*0\.[0-9]* s, [1-9][0-9]* samples.* $data\..*it_was_slow"; do
		grep -q "$line" "$dir/out" || fail "The status" "no line '$line'"
	done
	exits 0 '' status --prometheus || fail "The status" "no metrics"
	for line in 'up 1' 'dumps_total{reason="trigger dump"} 1' 'dumps_failed_total 0' \
		    'ring_span_seconds [0-9]*\.[0-9]*' 'samples_total [1-9][0-9]*' \
		    'lost_total [0-9]*' 'cpu_seconds_total [0-9]*\.[0-9]*' \
		    'sideband_bytes [1-9][0-9]*' 'ring_size_bytes 4194304' \
		    'last_dump_time_seconds [1-9][0-9]*'; do
		grep -q "^perf_recorder_$line\$" "$dir/out" || fail "The status" "no metric '$line'"
	done
	# Each has its help and its type, once
	if [ "$(grep -c '^# TYPE perf_recorder_[a-z_]* [cg][oa]u' "$dir/out")" -ne \
	     "$(grep -v '^#' "$dir/out" | sed 's/[ {].*//' | sort -u | wc -l)" ]; then
		fail "The status" "metrics without a type"
	fi
	if ! exits 0 '' status -o "$dir/perf.prom" || ! grep -q 'up 1$' "$dir/perf.prom" ||
	   [ "$(find "$dir" -name 'perf.prom*' -perm 644 | wc -l)" -ne 1 ]; then
		fail "The status" "no file of metrics"
	fi
	before=$(sed -n 's/^perf_recorder_samples_total //p' "$dir/perf.prom")
	sleep 0.5
	status -o "$dir/perf.prom"
	after=$(sed -n 's/^perf_recorder_samples_total //p' "$dir/perf.prom")
	[ "${after:-0}" -gt "${before:-0}" ] || fail "The status" "$before samples, then $after"
	[ $err -ne 0 ] || echo "The status [Success]"
}

# Of the recording of test_dump
test_bad() {
	long=12345678901234567890123456789012345678901234567890123456789012345
	if exits 1 'printable ASCII' dump "$(printf 'a\tb')" &&
	   exits 1 'printable ASCII' dump "$(printf 'two\nlines')" &&
	   exits 1 'longer than 64' dump $long &&
	   exits 1 'out of range' dump 0s &&
	   exits 1 'no such trigger' dump --trigger none &&
	   exits 129 'Usage: perf dump' dump --no-such-option &&
	   exits 129 'Usage: perf status' status more &&
	   exits 1 'Failed to write' status -o "$dir/none/x"; then
		echo "What can't be asked for [Success]"
	else
		fail "What can't be asked for" "exit code or message"
	fi
}

test_rights() {
	nobody='setpriv --reuid 65534 --clear-groups'
	member='setpriv --reuid 65534 --regid 65534 --groups daemon'
	if [ "$(id -u)" -ne 0 ] || ! $nobody perf version > /dev/null 2>&1; then
		echo "Users without the right [Skip: not root, or no setpriv]"
		return
	fi
	chgrp daemon "$socket" && chmod 660 "$socket"
	# shellcheck disable=SC2086  # several words
	if exits 4 "for members of the group 'daemon'" $nobody perf dump --socket "$socket" &&
	   exits 4 "for members of the group 'daemon'" $nobody perf status --socket "$socket" &&
	   exits 0 '' $member perf dump --socket "$socket" &&
	   grep -q "$data" "$dir/out"; then
		echo "Users without the right [Success]"
	else
		fail "Users without the right" "exit code or message"
	fi
}

test_not_running() {
	stop
	if exits 3 'Not running' dump && exits 3 'Not running' status &&
	   exits 3 'Not running' status -o "$dir/perf.prom" &&
	   [ "$(grep -v '^#' "$dir/perf.prom")" = 'perf_recorder_up 0' ]; then
		echo "Nothing runs [Success]"
	else
		fail "Nothing runs" "exit code or message"
	fi
}

# Who waits when the recording ends gets that answer: here for the next dump, in 100 seconds
test_end() {
	start -a --switch-output=signal --dump-interval 100
	dump -q > /dev/null 2>&1
	dump > "$dir/out" 2> "$dir/says" &
	waiter=$!
	if ! exits 1 'No answer within 1 seconds' dump --timeout 1; then
		fail "The end" "it doesn't wait"
		return
	fi
	stop
	wait $waiter
	code=$?
	# At the end perf doesn't wait for the interval: there may be a dump
	if [ $code -gt 1 ] ||
	   { [ $code -eq 1 ] && ! grep -q 'recording has ended' "$dir/says"; }; then
		fail "The end" "exit code $code"
	else
		echo "The end [Success]"
	fi
}

as_other() {
	setpriv --reuid 65534 --clear-groups "$@"
}

# A user's programs, here without an answer in time, take no place of other users' programs.
# A user can ask ten times at once, so this asks no more often.
test_waiters() {
	start -a --switch-output=signal --dump-interval 100
	chmod 666 "$socket"
	dump -q > /dev/null 2>&1
	waiters=
	for i in 1 2 3 4 5 6 7 8; do
		dump --timeout 2 "$i" > /dev/null 2>> "$dir/waiters" &
		waiters="$waiters $!"
	done
	# shellcheck disable=SC2086  # several numbers
	wait $waiters
	if [ "$(grep -c 'No answer within 2 seconds' "$dir/waiters")" -ne 8 ]; then
		fail "Many that wait" "$(cat "$dir/waiters")"
	elif ! exits 1 'too many programs of this user wait' dump --timeout 2; then
		fail "Many that wait" "no limit for a user"
	elif [ "$(id -u)" -eq 0 ] && as_other perf version > /dev/null 2>&1 &&
	     ! exits 1 'No answer within 1 seconds' \
		as_other perf dump --socket "$socket" --timeout 1; then
		fail "Many that wait" "no place for another user"
	else
		echo "Many that wait [Success]"
	fi
	stop
}

# Another file takes all room once perf record has started. The names of the processes alone don't
# fit into what is left, however early the dump comes.
test_disk_full() {
	mkdir "$dir/small"
	if ! mount -t tmpfs -o size=1m none "$dir/small" 2>/dev/null; then
		echo "A full disk [Skip: no mount]"
		rmdir "$dir/small"
		return
	fi
	data=$dir/small/perf.data
	start -a --switch-output=signal -c 100000
	# The header is written, too, once that is answered
	status --timeout 60 > /dev/null
	cat /dev/zero > "$dir/small/full" 2>/dev/null
	if exits 1 'No space left on device' dump &&
	   status | grep -q '1 failed, at 20.*No space'; then
		echo "A full disk [Success]"
	else
		fail "A full disk" "exit code or message"
	fi
	stop
	data=$dir/perf.data
}

# Bytes of all dumps
sum() {
	find "$dir" -name 'perf.data.2*' -printf '%s\n' | awk '{ s += $1 } END { print s + 0 }'
}

# Room for three dumps of about the size of the first: that of the first run goes, too
test_space() {
	start -a --switch-output=signal
	sleep 0.5
	first=$(dump -q first)
	stop
	room=$((3 * $(sum)))
	keep=1
	start -a --switch-output=signal --dump-files "space=${room}B,group=0"
	keep=
	for i in 1 2 3 4 5 6; do
		sleep 0.5
		last=$(dump -q "$i")
	done
	if [ ! -s "$last" ] || [ -e "$first" ] || [ -n "$(find "$dir" -name 'perf.data.*.1')" ] ||
	   { [ "$(sum)" -gt $room ] && [ "$(find "$dir" -name 'perf.data.2*' | wc -l)" -gt 1 ]; } ||
	   [ "$(stat -c %a "$last")" != 640 ]; then
		fail "The room for dumps" "$room bytes: $(ls -l "$dir")"
	else
		echo "The room for dumps [Success]"
	fi
	stop
	if perf record -M 4M --dump-files space=1M -e cpu-clock -o "$data" true > "$dir/out" 2>&1 ||
	   ! grep -q 'needs --switch-output=signal' "$dir/out"; then
		fail "The room for dumps" "not refused without files"
	fi
}

daemon_answers() {
	perf daemon ping --config "$dir/daemon.conf" 2>/dev/null | grep -q OK
}

test_daemon() {
	options="--switch-output=signal --trigger dump:socket --trigger-socket $socket"
	mkdir "$dir/base"
	cat > "$dir/daemon.conf" <<-END
		[daemon]
		base=$dir/base
		[session-recorder]
		run = -M 4M -a -e cpu-clock -o $data $options -- sleep 1000
	END
	perf daemon start --config "$dir/daemon.conf" > "$dir/log" 2>&1
	if wait_for 20 daemon_answers && wait_for 20 test -S "$socket" &&
	   sleep 0.5 && exits 0 'samples of' dump 10s of a session && [ -s "$(cat "$dir/out")" ] &&
	   exits 0 '' status && grep -q 'trigger dump: 1' "$dir/out"; then
		echo "perf daemon [Success]"
	else
		fail "perf daemon" "no dump or no status"
	fi
	perf daemon stop --config "$dir/daemon.conf" > /dev/null 2>&1
	rm "$dir/daemon.conf"
}

work
test_dump
test_status
test_bad
test_rights
test_not_running
test_end
test_waiters
test_disk_full
test_space
test_daemon

cleanup
exit $err
