# shellcheck shell=bash
# What is in the files. Sourced by lab/memory-ring-test/guest.

test_stock_reads() { # stock perf reads the file, as this one does
	start_load "${processes[@]}" -g go && start_record "${cycles[@]}" -M e16M -p "$load" || return
	touch go
	let_work 300 && dump && load_ends && end_record && right 50 || return
	/usr/bin/perf script --ns -G -F "$fields" -i perf.data >stock 2>script.err ||
		complain "stock perf script fails" || return
	cmp -s samples stock || complain "stock perf script prints something else" || return
	/usr/bin/perf report --stdio -i perf.data >report.log 2>/dev/null
	grep -q 'load_hash' report.log || complain "stock perf report has no load_hash"
}

# header_complete FILE - the header's times must be those of all samples in the file, and
# there must be a build-id of each file that has samples.
header_complete() {
	local first last

	samples_of "$1" && [[ -s samples ]] || complain "no samples in $1" || return
	perf report --header-only -i "$1" >header 2>/dev/null
	first=$(sed -n 's/^# time of first sample : //p' header)
	last=$(sed -n 's/^# time of last sample : //p' header)
	# Compare microseconds; the samples have nanoseconds.
	awk -v first="$first" -v last="$last" '{
		sub(/^[^[]*\[[0-9]*\] */, ""); sub(/[0-9][0-9][0-9]:.*/, "")
		if (NR == 1) from = $0
		to = $0
	} END {
		if (from != first || to != last) {
			print "# in the header " first " to " last ", in fact " from " to " to
			exit 1
		} }' samples || complain "$1: wrong times" || return
	perf buildid-list -i "$1" >ids 2>/dev/null
	sed -n 's/.*(\(\/.*\))$/\1/p' samples | sort -u >objects
	[[ -s objects ]] || complain "$1: samples in no file" || return
	while read -r object; do
		grep -qF " $object" ids || complain "$1: no build-id of $object" || return
	done <objects
}

test_header() { # the header after each dump, while recording goes on: times, build-ids
	local option file
	local few=(-e cpu-clock -F 1000)

	start_load "${processes[@]}" || return
	for option in --no-buildid-cache -z; do
		start_record "${few[@]}" -M e16M -p "$load" "$option" && let_work 100 && dump &&
			cp perf.data "first$option" && let_work 100 && dump &&
			cp perf.data "second$option" && let_work 100 && stop_record &&
			mv perf.data "third$option" || return
	done
	start_record "${few[@]}" -M 16M -p "$load" --switch-output=signal &&
		let_work 100 && dump && let_work 100 && dump && load_ends && end_record || return
	for file in perf.data.* {first,second,third}{--no-buildid-cache,-z}; do
		header_complete "$file" || return
	done
	grep -q 'compressed : Zstd, level = 1, ratio = [1-9]' header ||
		complain "no ratio in the header"
}

test_statistics() { # at the end: dumps, samples kept and dropped, side-band records
	start_record "${cycles[@]}" -M 128K -a && start_load "${processes[@]}" || return
	let_work 500 && dump && load_ends && let_pass 0.3 && dump && stop_record &&
		samples_of perf.data && said "\\b2 dumps\\b" && said "\\b$(number_of_samples) samples" &&
		said 'dropped' && said 'side-band' || return
	! grep -qiE 'lost [1-9].*chunks|overload|slow' record.log || {
		sed 's/^/# /' record.log
		complain "what the ring drops is no overload"
	}
}

test_build_ids() { # build-ids of a program that is gone
	local id

	since 5.12 || {
		refuses 'update your kernel' "${cycles[@]}" --buildid-mmap -M 4M -a
		return
	}
	start_record "${cycles[@]}" --buildid-mmap -M 4M -a || return
	cp /bin/sh ./gone-sh && id=$(readelf -n gone-sh | awk '/Build ID/ { print $3 }')
	[[ $id ]] || complain "/bin/sh has no build-id" || return
	# shellcheck disable=SC2016  # the inner shell expands it
	./gone-sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done'
	rm gone-sh
	dump && stop_record || return
	perf buildid-list -i perf.data >ids 2>/dev/null
	perf script --show-mmap-events -i perf.data 2>/dev/null >mmaps
	grep -q "$id" ids mmaps || complain "no build-id of a program that is gone"
}

test_vm_ids_again() { # process ids that are used again
	local before

	before=$(</proc/sys/kernel/pid_max)
	only_in_vm "it makes process ids few" || return
	start_record "${cycles[@]}" -M 16M -a || return
	echo 400 >/proc/sys/kernel/pid_max
	start_load "${processes[@]}" && let_work 1500 && dump && load_ends && stop_record
	echo "$before" >/proc/sys/kernel/pid_max
	right 100
}

# Waits for "go", then execs. It gets most of a CPU whatever else runs, because the ring
# holds no more than the last second.
waits_and_execs() {
	# shellcheck disable=SC2016  # the inner shell expands it
	exec nice -n -15 sh -c 'until [ -e go ]; do sleep 0.02; done; exec "$0" 60' "$bin/container_hot"
}

test_vm_clock_set_back() { # -k CLOCK_REALTIME, and the clock is set back: names and mappings hold
	local -a clock=(-k CLOCK_REALTIME --sample-cpu)

	only_in_vm "it sets the clock" || return
	# The ring holds what the buffers of two CPUs hold, and perf reads these in time.
	start_record "${cycles[@]}" -M 256K -m 16 --realtime 1 -a &&
		start_load "${processes[@]}" || return
	waits_and_execs &
	waiting=$!
	trap 'kill $waiting; end_all' EXIT
	# Before and after, the ring wraps, and perf processes the records that it drops.
	let_work 1000 && date -s '-1 hour' >/dev/null && touch go || return
	wait_for 20 "the exec" grep -qx container_hot "/proc/$waiting/comm" || return
	let_work 1000 && dump || return
	date -s '+1 hour' >/dev/null
	load_ends && stop_record || return
	perf script -F comm,pid,ip,sym -i perf.data >samples 2>script.err
	(($(grep -c "^ *container_hot  *$waiting .* container_hot" samples) >= 10)) ||
		complain "not 10 samples of it: $(awk '{ print $1 }' samples | sort | uniq -c | tr '\n' ,)" || return
	! grep -m 3 "^ *sh  *$waiting " samples || complain "it is called as it was before" || return
	said 'clock was set back by 3[56][0-9.]* s'
}
