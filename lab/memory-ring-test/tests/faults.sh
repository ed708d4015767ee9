# shellcheck shell=bash
# Faults of the disk and of file systems, and a user without privileges. Sourced by lab/memory-ring-test/guest.

test_kill() { # kill -9 in the middle of a dump: the previous dump stays readable
	local at size complete grown

	start_load "${processes[@]}" || return
	# The size of a first dump without a fault gives the sizes to kill the second at.
	start_record "${cycles[@]}" -M 1M -a && let_work 100 && dump || return
	size=$(size_of perf.data)
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	for at in 100 3000 20000; do
		export KILL_FILE=/perf.data KILL_AT=$((2 * size + at)) LD_PRELOAD=$bin/kill_at.so
		start_record "${cycles[@]}" -M 1M -a
		unset KILL_FILE KILL_AT LD_PRELOAD
		let_work 100 && dump && cp perf.data first.data || return
		grown=$(size_of perf.data)
		until gone "$recorder"; do
			let_work 100 && request || return
			wait_for 20 "the dump or its end" grows_or_gone || return
		done
		wait "$recorder" 2>/dev/null
		cp perf.data killed.data
		right 20 first.data && complete=$(number_of_samples) && right 20 killed.data || return
		(($(number_of_samples) >= complete)) ||
			complain "$(number_of_samples) of $complete samples are left" || return
	done
	load_ends
}

grows_or_gone() {
	gone "$recorder" || larger_than perf.data "$grown" && grown=$(size_of perf.data)
}

test_full_disk() { # a full disk: the error names file and cause; another try works
	local status

	mkdir small && mount -t tmpfs -o size=8M small small || return
	fill_disk
	status=$?
	cp small/perf.data . && umount -l small
	((!status)) && right 25 first.data && right 50
}

fill_disk() {
	start_record "${cycles[@]}" -M 1M -a -o small/perf.data &&
		start_load "${processes[@]}" || return
	let_work 300 && dump && cp small/perf.data first.data || return
	head -c 8M /dev/zero >small/filler 2>/dev/null
	let_work 300
	! dump >/dev/null || complain "a dump onto a full disk was acknowledged" || return
	said 'small/perf.data.*No space left.*kept for the next dump' || return
	rm small/filler
	let_work 100 && dump && load_ends && stop_record
}

# stuck SIGNAL [COMMAND...] - runs perf by COMMAND
stuck() {
	local signal=$1 status=0 perf

	shift
	rm -f pipe ctl ack
	mkfifo ctl ack pipe
	exec 7<>pipe
	"$@" perf record "${clock[@]}" -e cpu-clock -F 10000 --call-graph dwarf -M 16M -a -o - \
		--control fifo:ctl,ack 2>record.log 7>&- >pipe &
	recorder=$!
	ask ping && let_pass 1 && request || return
	let_pass 0.5
	perf=$recorder
	(($# == 0)) || perf=$(pgrep -P "$recorder")
	# At once, however busy the machine is: with a pause between them, the second ends perf.
	kill -STOP "$perf"
	kill -INT "$perf"
	kill -TERM "$perf"
	kill -CONT "$perf"
	wait_for 20 "the message" grep -q 'another signal' record.log || return
	! gone "$perf" || complain "it did not wait" || return
	kill "-$signal" "$perf"
	wait_for 5 "the end of perf" gone "$perf" || return
	wait "$recorder" || status=$?
	((status == 128 + $(kill -l "$signal"))) || complain "exit status $status" || return
	said 'Gave up waiting' || return
	exec 7>&-
}

test_stuck() { # a dump into a pipe that nobody reads: a second signal ends perf
	end_with_test
	stuck INT && stuck TERM
}

test_stuck_alone() { # the same as the first process of a container
	end_with_test
	stuck TERM unshare --pid --fork --kill-child --mount-proc
}

test_null() { # -o /dev/null: dumps are discarded
	start_record "${cycles[@]}" -M 4M -a -o /dev/null && dump && dump && stop_record || return
	[[ -c /dev/null ]] && said 'Dump /dev/null: [0-9]+ samples' || return
	refuses "isn't a file" "${cycles[@]}" -M 4M --switch-output=signal -o /dev/null
}

test_file_limit() { # a file at its size limit: perf doesn't announce another try
	start_load "${processes[@]}" || return
	trap '' XFSZ
	ulimit -f 1000
	start_record "${cycles[@]}" --call-graph dwarf -M 16M -a || return
	let_work 300
	! dump >/dev/null || complain "it has more room than there is" || return
	load_ends && stop_record && said 'File too large' || return
	! grep 'kept for the next dump' record.log || complain "another try would fail as well"
}

# header_of FILE - print the header without the time of the file
header_of() {
	perf report --header-only -i "$1" 2>/dev/null | grep -v 'captured on'
}

test_full_at_end() { # a disk that is full at exit: the header stays as the last dump left it
	LD_PRELOAD=$bin/faults.so FAULT=full start_record "${cycles[@]}" -M 16M -a &&
		start_load "${processes[@]}" && let_work 300 && dump && load_ends || return
	header_of perf.data >before
	perf buildid-list -i perf.data >ids
	touch full && stop_record 228 && said 'header of perf.data: No space left' || return
	header_of perf.data >header
	[[ -s ids ]] && perf buildid-list -i perf.data | cmp - ids && cmp before header && right 25
}

test_no_links() { # a file system without links: each dump has its file, none is replaced
	LD_PRELOAD=$bin/faults.so FAULT=link start_record "${cycles[@]}" -M 4M -a \
		--switch-output=signal && dump && dump && stop_record || return
	files=(perf.data.2*)
	((${#files[@]} == 2)) || complain "files: ${files[*]}" || return
	[[ -s ${files[0]} && -s ${files[1]} ]] || complain "an empty one is left"
}

test_link_race() { # another perf record creates perf.data just before perf makes a link
	LD_PRELOAD=$bin/faults.so FAULT=other start_record "${cycles[@]}" -M 4M -a \
		--switch-output=signal && dump && dump && stop_record || return
	[[ $(<perf.data) == other ]] || complain "the other's perf.data has gone: $(ls -l)" || return
	[[ ! $(find . -name '.perf*') ]] || complain "left: $(find . -name '.perf*')"
}

test_unprivileged() { # a user without privileges
	mkdir user && chown 65534:65534 user && cd user || return
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		perf record "${clock[@]}" -e cpu-clock:u -F 1000 -M e64M -- \
		"$bin/load" "${processes[@]}" "${some[@]}" truth >record.log 2>&1 || {
		sed 's/^/# /' record.log
		complain "not as nobody"
		return
	}
	cp perf.data truth .. && cd .. && chown 0:0 perf.data && right 25
}
