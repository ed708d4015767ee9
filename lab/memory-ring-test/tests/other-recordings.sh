# shellcheck shell=bash
# Other recordings, and files that others change. Sourced by lab/memory-ring-test/guest.

test_other_recordings() { # another recording beside -M gets no build-ids, and sees none
	start_record "${seldom[@]}" -M 4M -a || return
	/usr/bin/perf record -o other.data -e cpu-clock true >other.log 2>&1 ||
		complain "stock perf record: $(tail -n 3 other.log)" || return
	stop_record
	! perf script -i other.data --show-mmap-events 2>/dev/null | grep 'MMAP2.* <' ||
		complain "it has build-ids" || return
	start_record "${seldom[@]}" -M 4M -a --buildid-mmap || return
	perf record -o other.data -e cpu-clock true >other.log 2>&1 ||
		complain "perf record: $(tail -n 3 other.log)" || return
	stop_record
	! perf script -i other.data --show-mmap-events 2>/dev/null | grep 'MMAP2.* <' ||
		complain "it takes something for a build-id"
}

test_removed() { # perf.data removed: a new file with all that its samples need
	start_record "${cycles[@]}" -M 16M -a && start_load "${processes[@]}" || return
	let_work 300 && dump && rm perf.data && let_work 300 && dump && cp perf.data second.data &&
		said 'perf.data was removed' && let_work 200 && dump && mv perf.data third.data &&
		load_ends && stop_record || return
	(($(grep -c 'creating a new file' record.log) == 1)) || complain "more than one" || return
	said 'perf.data was .* after the last dump' && right 50 second.data &&
		right 100 third.data || return
	! grep 'Captured and wrote' record.log || complain "it is not there any more"
}

test_replaced() { # perf.data replaced by two other recordings: they stay as they are
	local other name i

	start_record "${cycles[@]}" -M 16M -a && start_load "${processes[@]}" || return
	let_work 300 && dump || return
	for i in 1 2; do
		perf record -e cpu-clock true >/dev/null 2>&1
	done
	other=$(cksum perf.data perf.data.old)
	let_work 300 && dump && name=$(cut -d ' ' -f 3 ask.log) && load_ends && stop_record ||
		return
	[[ $name == perf.data.2* ]] || complain "the dump is in '$name'" || return
	right 50 "$name" || return
	[[ $(cksum perf.data perf.data.old) == "$other" ]] || complain "the others have changed"
}

test_own_names() { # --switch-output=signal beside another perf record: each has its own samples
	local other first name dumped

	start_record "${cycles[@]}" -M 16M -a --switch-output=signal &&
		start_load "${processes[@]}" && let_work 300 || return
	[[ ! -e perf.data ]] || complain "there is a perf.data before the first dump" || return
	perf record -e cpu-clock true >/dev/null 2>&1
	other=$(cksum perf.data)
	dump && first=$(cut -d ' ' -f 3 ask.log) || return
	dumped=$(sed -n 's/.*Dump [^ ]*: \([0-9]*\) samples.*/\1/p' record.log)
	[[ $(cksum perf.data) == "$other" ]] || complain "the other file has changed" || return
	said 'No link perf.data' || return
	rm perf.data && let_work 100 && dump && name=$(cut -d ' ' -f 3 ask.log) || return
	[[ $(readlink perf.data) == "$name" ]] || complain "perf.data is no link to $name" || return
	let_work 100 && dump && name=$(cut -d ' ' -f 3 ask.log) && load_ends && stop_record || return
	[[ $(readlink perf.data) == "$name" ]] || complain "perf.data is no link to $name" || return
	[[ ! $(find . -name '.perf*') ]] || complain "left: $(find . -name '.perf*')" || return
	right 20 "$first" || return
	(($(number_of_samples) == dumped)) ||
		complain "$(number_of_samples) samples, $dumped are said"
}
