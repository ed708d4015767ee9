# shellcheck shell=bash
# Requests for a dump, and the answers. Sourced by lab/memory-ring-test/guest.

test_no_pause() { # a request while records come without a pause
	local i

	# Each write makes a COMM record, and these have no rate limit.
	# shellcheck disable=SC2016  # the inner shell expands it
	LD_PRELOAD=$bin/slow_read.so start_record -e dummy -M 16M --switch-output=signal -- \
		env -u LD_PRELOAD sh -c 'names() { while kill -0 $PPID && echo a >/proc/self/comm; do :; done; }
			{ names & names; } 2>/dev/null'
	for ((i = 0; i < 3; i++)); do
		dump || return
	done
	ask stop && end_record 143
}

test_two_requests() { # two requests at once: both are answered
	start_record "${cycles[@]}" -M 16M -a && start_load "${processes[@]}" || return
	let_work 300
	ask snapshot 2 && load_ends && stop_record && right 50
}

test_storm() { # a storm of SIGUSR2
	local i

	start_record "${cycles[@]}" -M 16M -a && start_load "${processes[@]}" || return
	let_work 200
	for ((i = 0; i < 500; i++)); do
		kill -USR2 "$recorder" || break
	done
	dump && load_ends && stop_record && right 50
}

test_early_signal() { # a signal before perf records doesn't end it
	start_load "${processes[@]}" -i 100 || return
	mkfifo ctl ack
	perf record "${clock[@]}" "${cycles[@]}" -M 16M -a --control fifo:ctl,ack >record.log 2>&1 &
	recorder=$!
	# Wait for the handler: before that, the signal would end perf.
	wait_for 20 "the handler of SIGUSR2" perf_handles 12 || return
	while ! [[ -s perf.data ]]; do
		kill -USR2 "$recorder" || break
	done
	ask ping && let_work 300 && dump && load_ends && stop_record && right 25
}

# perf_handles SIGNAL - this shell handles it as well: there has to be perf in its place.
perf_handles() {
	local caught

	grep -qx perf "/proc/$recorder/comm" || return
	caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$recorder/status") || return
	((0x${caught:-0} >> ($1 - 1) & 1))
}

test_answers() { # the answer names the file and the request
	local name label

	start_record "${cycles[@]}" -M 4M -a --switch-output=signal && ask 'snapshot slow/1' ||
		return
	read -r _ _ name label <ask.log
	[[ $name == perf.data.2*.slow_1 && -s $name && $label == slow/1 ]] ||
		complain "the answer: $(<ask.log)" || return
	ask snapshot && read -r _ _ name label <ask.log && stop_record || return
	[[ -s $name && ! $label ]] || complain "the answer: $(<ask.log)"
}

test_message() { # the message of a dump: the time that it covers, and the lost samples
	start_record "${cycles[@]}" -M 16M -a && start_load "${processes[@]}" && let_work 300 &&
		dump && load_ends && stop_record || return
	said 'Dump perf.data: [0-9]+ samples of [0-9.]+ s, [0-9.]+ MB, [0-9]+ lost by the kernel' ||
		return
	perf report --header-only -i perf.data >header 2>/dev/null
	awk -v said="$(sed -n 's/.* samples of \([0-9.]*\) s.*/\1/p' record.log)" '
		/time of first sample/ { first = $NF } /time of last sample/ { last = $NF }
		END { exit last - first > said + 0.002 || last - first < said - 0.002 }' header ||
		complain "$(grep Dump record.log): $(grep 'time of' header)"
}

test_interval() { # --dump-interval: a storm of signals makes one dump at once, and one after it
	local i before

	start_record "${cycles[@]}" -M 4M -a --switch-output=signal --switch-max-files 2 \
		--dump-interval 3 || return
	before=$SECONDS
	for ((i = 0; i < 300; i++)); do
		kill -USR2 "$recorder" || return
	done
	# This request is answered by the dump after the interval.
	dump && stop_record || return
	((SECONDS - before >= 2)) || complain "it came early" || return
	(($(grep -c 'Dump perf.data' record.log) == 2)) ||
		complain "$(grep -c 'Dump perf.data' record.log) dumps"
}

test_configured() { # record.memory-ring in the configuration: perf says so at the start
	export HOME=$PWD
	perf config --user record.memory-ring=4M
	record -e cpu-clock true && said 'record.memory-ring in the perf configuration' || return
	record -e cpu-clock --no-memory-ring true || return
	! grep memory-ring record.log || complain "said without need" || return
	record -e cpu-clock -M 4M true || return
	! grep memory-ring record.log || complain "said without need" || return
	perf record -e cpu-clock --overwrite true >record.log 2>&1
	said 'no-memory-ring'
}

test_early_end() { # an error before recording starts, and a request: no dump, no crash
	local status=0

	LD_PRELOAD=$bin/early_end.so perf record "${cycles[@]}" -M e4M -- true >record.log 2>&1 ||
		status=$?
	((status && status < 128 || status == 255)) || complain "exit status $status" || return
	! grep -q 'Dump' record.log || complain "there was a dump"
}
