# shellcheck shell=bash
# The checker itself. Sourced by lab/memory-ring-test/guest.

# finds WHAT - the checker must reject the samples in "changed".
finds() {
	local status=0

	"$bin/check_samples" -r 99.7 -w 0.049 -c 100 truth <changed >check.log 2>&1 || status=$?
	((status == 1)) || {
		sed 's/^/# /' check.log
		complain "the checker does not find $1: exit status $status"
	}
}

test_checker() { # the checker: accepts a full recording, rejects a changed one
	record "${clock[@]}" "${cycles[@]}" -- "$bin/load" "${processes[@]}" "${some[@]}" truth &&
		right 125 || return
	# One of ten functions, names of threads, and objects
	awk '/alpha_/ && n++ % 10 == 0 { sub("alpha_", "beta_") } { print }' samples >changed
	finds "wrong functions" || return
	awk '/alpha_/ && n++ % 10 == 0 { sub(/[^ ]*alpha_.*/, "[unknown] ([unknown])") } { print }' \
		samples >changed
	finds "unresolved samples" || return
	awk '/\/libone/ && n++ % 2 == 0 { sub("/libone", "/libtwo"); sub("one_", "two_") } { print }' \
		samples >changed
	finds "another library" || return
	awk 'n++ == 300 { sub(/[^ ]+/, "nobody") } { print }' samples >changed
	finds "a wrong comm" || return
	awk '{ print } n++ == 300 { print }' samples >changed
	finds "a sample that is there twice" || return
	awk 'n++ == 300 { last = $0; next } { print } last { print last; last = "" }' samples >changed
	finds "disorder"
}

# A table made by hand: process 20, "first", ends while 10, the load, is about to fork
# another one, which gets its id. The clock reading for that fork is from before the end.
two_of_one_id() {
	python3 - "$bin/load" <<-'END'
		import struct, sys

		FORK, EXEC, IMAGE, COMM, GONE = 1, 3, 4, 7, 8
		entries = [
		    (1, 1, 10, 10, 0, FORK, b""), (2, 0, 10, 10, 0, EXEC, b""),
		    (3, 3, 10, 10, 0, IMAGE, b""),
		    (100, 110, 20, 20, 10, FORK, b""), (120, 130, 20, 20, 0, COMM, b"first"),
		    (300, 310, 10, 20, 0, GONE, b""),
		    (200, 320, 20, 20, 10, FORK, b""), (330, 340, 20, 20, 0, COMM, b"second"),
		]
		with open("truth", "wb") as f:
		    f.write(struct.pack("<QIIII8192s", 0x3168747572740a21, 99, len(entries), 1, 0,
		                        sys.argv[1].encode()))
		    for before, after, pid, tid, parent, kind, comm in entries:
		        f.write(struct.pack("<QQIIIHHQ16s", before, after, pid, tid, parent, 0, kind,
		                            0, comm))
	END
}

test_checker_of_ids() { # the checker: the owner of an id while its next owner is being forked
	local time name

	two_of_one_id || return
	for time in 150:first 250:first 299:first 315:load 350:second; do
		name=${time#*:} time=${time%:*}
		echo "$name 20/20 [000] 0.000000$time: ffffffff81000000 f ([kernel])" >>samples
	done
	check_samples -c 100 || return
	sed 's/^load/first/' samples >changed
	finds "the name of who had the id before"
}
