#!/bin/sh
# perf record -M keeps the newest events in memory, and dumps them
# SPDX-License-Identifier: GPL-2.0
#
# Expected: without a dump the file has no samples. Each dump adds the samples since
# the previous one, in order of time, none twice. They have names even if their
# process has ended. The file is complete after each dump. Buggy: anything else in
# the file, or a dump that isn't acknowledged within WAIT seconds.

err=0
WAIT=30
dir=$(mktemp -d /tmp/perf-memory-ring.XXXXXX)
data=$dir/perf.data
pid=

cleanup() {
	trap - EXIT TERM INT
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
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

# A load of short-lived processes
cat > "$dir/work" <<'EOF'
while :; do
	dd if=/dev/zero of=/dev/null bs=64k count=200 2>/dev/null
done
EOF

samples() {
	perf script -i "$1" -F comm,time 2>/dev/null | wc -l
}

# start OPTION...: record until "stop" is written to the control fifo
start() {
	rm -rf "$dir/ctl" "$dir/ack" "$data"*
	mkfifo "$dir/ctl" "$dir/ack"
	perf record -e cpu-clock -F 4000 -o "$data" --control "fifo:$dir/ctl,$dir/ack" "$@" \
		-- sh "$dir/work" > "$dir/log" 2>&1 &
	pid=$!
	# Open both ends of both, so that the shell doesn't block until perf opens them
	exec 8<>"$dir/ctl" 9<>"$dir/ack"
}

# ask COMMAND: send it, and wait until perf acknowledges it
ask() {
	echo "$1" >&8
	timeout $WAIT dd bs=4096 count=1 <&9 2>/dev/null | grep -aqE '^ack( |$)'
}

stop() {
	ask stop || kill "$pid"
	wait "$pid"
	pid=
}

# Repeat the dump until it has enough samples: an empty one proves nothing
ask_for_samples() {
	old=$(samples "$data")
	tries=0
	while [ $tries -lt $WAIT ]; do
		ask snapshot || return 1
		[ "$(samples "$data")" -le $((old + 100)) ] || return 0
		tries=$((tries + 1))
		sleep 1
	done
	return 1
}

test_no_dump() {
	perf record -M 1M -e cpu-clock -o "$data" true > "$dir/log" 2>&1
	if [ $? -ne 0 ] || [ "$(samples "$data")" -ne 0 ]; then
		fail "No dump" "there are samples"
		return
	fi
	perf script -i "$data" --show-mmap-events 2>/dev/null | grep -q PERF_RECORD && {
		fail "No dump" "there is side-band"
		return
	}
	echo "No dump [Success]"
}

test_at_exit() {
	perf record -M e1M -e cpu-clock -c 10000 -o "$data" dd if=/dev/zero of=/dev/null bs=1M \
		count=2000 > "$dir/log" 2>&1
	if [ $? -ne 0 ] || ! perf script -i "$data" -F comm 2>/dev/null | grep -q '^ *dd'; then
		fail "Dump at exit" "no samples of dd"
		return
	fi
	echo "Dump at exit [Success]"
}

test_dumps() {
	start -M 1M "$@"
	for dump in 1 2 3; do
		ask_for_samples || {
			fail "Dumps $*" "dump $dump: no acknowledgment, or no samples"
			stop
			return
		}
	done
	stop
	perf script -i "$data" -F time 2>/dev/null | tr -d ' :' | sort -c -n || {
		fail "Dumps $*" "not in order of time"
		return
	}
	# A CPU has no two samples with the same time, so these are duplicates
	[ -z "$(perf script -i "$data" -F cpu,tid,time 2>/dev/null | sort | uniq -d)" ] || {
		fail "Dumps $*" "samples are in the file twice"
		return
	}
	perf script -i "$data" -F comm 2>/dev/null | grep -v -e dd -e sh -e perf > "$dir/other" && {
		fail "Dumps $*" "names that the load doesn't have: $(sort -u "$dir/other")"
		return
	}
	perf script -i "$data" -F comm 2>/dev/null | grep -q dd || {
		fail "Dumps $*" "no samples of dd"
		return
	}
	echo "Dumps $* [Success]"
}

dumps() {
	grep -c 'Dump ' "$dir/log"
}

test_signal() {
	start -M 1M --switch-output=signal --switch-max-files=2
	# Wait until perf handles signals
	ask ping
	for dump in 1 2 3; do
		kill -USR2 "$pid"
		tries=0
		while [ "$(dumps)" -lt $dump ] && [ $tries -lt $((10 * WAIT)) ]; do
			tries=$((tries + 1))
			sleep 0.1
		done
	done
	stop
	files=$(find "$dir" -name 'perf.data.*' | wc -l)
	[ "$files" -eq 2 ] || {
		fail "A file for each dump" "$files files, not 2"
		return
	}
	for file in "$data".*; do
		perf script -i "$file" > /dev/null 2>&1 || {
			fail "A file for each dump" "$file can't be read"
			return
		}
	done
	echo "A file for each dump [Success]"
}

# Why there was a dump, how far back it reaches, and how many there may be
test_reasons() {
	start -M 32M,20s --max-dumps 2
	sleep 2
	# Two seconds are a part of what there is since the dump before
	if ! ask snapshot || ! sleep 4 || ! ask 'snapshot 2s why not'; then
		fail "Reasons" "no acknowledgment"
	fi
	if ask snapshot; then
		fail "Reasons" "three dumps"
	fi
	stop
	perf report -i "$data" --header-only 2>/dev/null > "$dir/header"
	for why in 'snapshot$' 'snapshot 2s why not$'; do
		grep -q "dumped because of : $why" "$dir/header" || {
			fail "Reasons" "none of '$why'"
			return
		}
	done
	grep -q ' 1 requests came after --max-dumps' "$dir/log" || {
		fail "Reasons" "the request held back isn't counted"
		return
	}
	# The last gap between two samples is that between the dumps
	perf script -i "$data" -F time 2>/dev/null | tr -d ' :' | awk '
		$1 - last > 1 { first = $1 } { last = $1 }
		END { exit !first || last - first > 2.1 }' || {
		fail "Reasons" "more than two seconds, or no gap"
		return
	}
	echo "Reasons [Success]"
}

# refused OPTION...
refused() {
	rm -f "$data"
	perf record "$@" -o "$data" true > "$dir/log" 2>&1 && return 1
	[ -s "$dir/log" ]
}

test_refused() {
	for size in 0 x 1.5M -1 64Q M 99999999999999999999 '1M,' 1M,5 1M,0s '1M,5s,'; do
		refused -M "$size" || {
			fail "Bad options" "-M $size"
			return
		}
	done
	for option in --overwrite --aio --threads --tail-synthesize --switch-output=1M; do
		refused -M 1M "$option" || {
			fail "Bad options" "-M 1M $option"
			return
		}
	done
	for option in --dump-interval=1 --max-dumps=1 --dump-files=space=1M; do
		if ! refused -e cpu-clock $option ||
		   ! grep -q -e "${option%%=*} needs -M" "$dir/log"; then
			fail "Bad options" "$option without -M"
			return
		fi
	done
	echo "Bad options [Success]"
}

test_no_dump
test_at_exit
test_dumps
perf version --build-options | grep -q 'zstd: \[ on' && test_dumps -z
test_signal
test_reasons
test_refused

cleanup
exit $err
