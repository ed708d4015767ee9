#!/bin/sh
# perf data convert --to-trace-events
# SPDX-License-Identifier: GPL-2.0
#
# Expected: each sample of a recording is a mark, each CPU has a row, and the file is JSON.
# A file that exists stays as it is, and an error leaves none. Buggy: a sample that is
# missing, another exit status, or something that isn't JSON.

err=0
dir=$(mktemp -d /tmp/perf-trace-events.XXXXXX)
data=$dir/perf.data
json=$dir/t.json

cleanup() {
	trap - EXIT TERM INT
	rm -rf "$dir"
}

trap_cleanup() {
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$* [Failed]"
	err=1
}

convert() {
	perf data convert -i "$data" --to-trace-events "$json" "$@" >"$dir/said" 2>&1
}

# refused WHAT ARG...
refused() {
	what=$1
	shift
	if convert "$@"; then
		fail "$what: no error"
	elif [ -e "$json" ] || ls "$json"* >/dev/null 2>&1; then
		fail "$what: a file was left"
	fi
}

test_samples() {
	convert || fail "conversion: $(cat "$dir/said")"
	wanted=$(perf script -i "$data" -F event 2>/dev/null | grep -c cpu-clock)
	seen=$(grep -c '"ph":"i".*"note":"cpu-clock' "$json")
	[ "$wanted" -gt 0 ] && [ "$seen" -eq "$wanted" ] || fail "$seen of $wanted samples"
	grep -q '"ph":"i".*"name":"\([^"]*\)",.*"note":"cpu-clock, \1+0x' "$json" ||
		fail "no sample has the name of its function"
	grep -q '"ph":"X","pid":5000000,' "$json" || fail "no row of a CPU has a slice"
	[ "$(head -c 1 "$json")" = '{' ] && [ "$(tail -n 1 "$json" | tail -c 2)" = '}' ] ||
		fail "the file isn't whole"
}

test_json() {
	command -v python3 >/dev/null || return
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$json" || fail "no JSON"
}

test_existing() {
	echo mine >"$json"
	! convert || fail "a file was replaced"
	[ "$(cat "$json")" = mine ] || fail "a file was changed"
	convert -f || fail "-f: $(cat "$dir/said")"
	grep -q traceEvents "$json" || fail "-f doesn't replace the file"
	rm -f "$json"
}

test_filters() {
	cpu=$(perf script -i "$data" -F cpu 2>/dev/null |
		sed -n '1s/.*\[0*\([0-9]\{1,\}\)\].*/\1/p')
	convert --cpu "$cpu" || fail "--cpu: $(cat "$dir/said")"
	! grep '"ph":"X"' "$json" | grep -qv "\"tid\":$((5000001 + cpu))," ||
		fail "--cpu: another CPU"
	rm -f "$json"
	refused "--tid of no thread" --tid 4000000
	refused "--time of nothing" --time 0.000000001,0.000000002
	refused "a size that is none" --max-size x
}

test_limit() {
	convert --max-size 1K || fail "--max-size: $(cat "$dir/said")"
	[ "$(wc -c <"$json")" -lt 4096 ] || fail "--max-size: $(wc -c <"$json") bytes"
	grep -q 'size limit' "$json" || fail "--max-size: no mark"
	rm -f "$json"
}

perf record -q -e cpu-clock -F 1000 --sample-cpu --switch-events -o "$data" -- \
	sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 0.01' || {
	cleanup
	exit 2
}
test_samples
test_json
test_existing
test_filters
test_limit
cleanup
exit $err
