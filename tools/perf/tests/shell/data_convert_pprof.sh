#!/bin/sh
# perf data convert --to-pprof
# SPDX-License-Identifier: GPL-2.0
#
# Expected: each sample of a recording is counted, the names of its functions, threads and
# files are there, and the file is compressed. A file that exists stays as it is, and an error
# leaves none. Buggy: a sample or a name that is missing, another exit status, or a file that
# gzip can't read.

err=0
dir=$(mktemp -d /tmp/perf-pprof.XXXXXX)
data=$dir/perf.data
profile=$dir/p.pb.gz

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
	perf data convert -i "$data" --to-pprof "$profile" "$@" >"$dir/said" 2>&1
}

# refused WHAT ARG...
refused() {
	what=$1
	shift
	if convert "$@"; then
		fail "$what: no error"
	elif [ -e "$profile" ] || ls "$profile"* >/dev/null 2>&1; then
		fail "$what: a file was left"
	fi
}

# counted WHAT ARG... - as many samples as perf script shows with the same filter
counted() {
	what=$1
	shift
	rm -f "$profile"
	convert "$@" || fail "$what: $(cat "$dir/said")"
	wanted=$(perf script -i "$data" -F event "$@" 2>/dev/null | grep -c cpu-clock)
	seen=$(sed -n 's/.* \([0-9]*\) samples, .*/\1/p' "$dir/said")
	[ "$wanted" -gt 0 ] && [ "$seen" = "$wanted" ] || fail "$what: $seen of $wanted samples"
}

test_names() {
	counted "all samples"
	gzip -dc "$profile" | tr '\001-\037\177' '[\n*]' >"$dir/text" || fail "gzip can't read it"
	perf script -i "$data" -F ip,sym -G 2>/dev/null | awk 'NF == 2 { print $2 }' |
		grep -vF '[unknown]' | sort -u >"$dir/names"
	[ -s "$dir/names" ] || fail "perf script has no names"
	while read -r name; do
		grep -qaF -- "$name" "$dir/text" || fail "no $name"
	done <"$dir/names"
	for name in samples cpu-clock nanoseconds thread_comm sh; do
		grep -qaF -- "$name" "$dir/text" || fail "no $name"
	done
}

test_existing() {
	echo mine >"$profile"
	! convert || fail "a file was replaced"
	[ "$(cat "$profile")" = mine ] || fail "a file was changed"
	convert -f || fail "-f: $(cat "$dir/said")"
	gzip -t "$profile" || fail "-f doesn't replace the file"
	rm -f "$profile"
}

test_filters() {
	cpu=$(perf script -i "$data" -F cpu 2>/dev/null |
		sed -n '1s/.*\[0*\([0-9]\{1,\}\)\].*/\1/p')
	half=$(perf script -i "$data" -F time 2>/dev/null |
		awk '{ time[NR] = $1 + 0 } END { printf "%.6f", time[int(NR / 2) + 1] }')
	counted "--cpu" --cpu "$cpu"
	counted "--comm" --comm sh
	counted "--time" --time "$half,"
	rm -f "$profile"
	refused "--tid of no thread" --tid 4000000
	refused "--time of nothing" --time 0.000000001,0.000000002
	refused "with another format" --to-json "$dir/t.json"
	refused "a size" --max-size 1M
}

# The functions of the kernel have other names in this file. Only root knows where they are,
# if the kernel shows it to anybody.
test_kallsyms() {
	[ "$(id -u)" = 0 ] && grep -q '^[^ ]*[1-9a-f]' /proc/kallsyms || return
	perf record -q -e cpu-clock -F 1000 -o "$data" -- \
		dd if=/dev/zero of=/dev/null bs=1M count=500 2>/dev/null
	perf script -i "$data" -F ip,sym 2>/dev/null | awk '$1 ~ /^f/ && NF == 2 { print $2 }' |
		grep -vF '[unknown]' >"$dir/kernel"
	[ -s "$dir/kernel" ] || fail "no sample in the kernel"
	sed 's/ \([tTwW]\) \([a-z]\)/ \1 named_\2/' /proc/kallsyms >"$dir/kallsyms"
	counted "--kallsyms" --kallsyms "$dir/kallsyms"
	gzip -dc "$profile" | grep -qaF "named_$(grep -m1 '^[a-z]' "$dir/kernel")" ||
		fail "--kallsyms: no name from there"
	rm -f "$profile"
}

perf data convert -h 2>&1 | grep -q to-pprof || {
	echo "perf was built without zlib"
	cleanup
	exit 2
}
perf record -q -e cpu-clock -F 1000 -g --sample-cpu -o "$data" -- \
	sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 0.01' || {
	cleanup
	exit 2
}
test_names
test_existing
test_filters
test_kallsyms
cleanup
exit $err
