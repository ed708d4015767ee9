# SPDX-License-Identifier: GPL-2.0
# Is there a dump for each slow call, for each once, and for no other, with its beginning?
#
# usage: awk -v slow=MS -f triggers.awk CALLS REASONS ENTRIES
#
# CALLS is what slow_calls has printed, the time right outside of its calls. REASONS has
# the lines of the header, ENTRIES the "TID TIME" of each entry in the file, and with "exit"
# behind that of each exit. Between the two times of a call there are the probes: a call of
# up to EDGE ms more may be in or out. One that was open when it was noticed has the time
# until then, "so far". That may be the call of a thread that ends in it, which isn't in
# CALLS: on a busy machine its end takes long.
# Prints what is wrong; exit status 1 if something is.

BEGIN {
	EDGE = 20
}

FNR == 1 {
	file++
}

function complain(what) {
	print what
	bad = 1
}

file == 1 {
	tid[++calls] = $1
	since[calls] = $2 / 1e9
	until[calls] = $3 / 1e9
}

# ... : 60.729263 ms, thread 3421/3429 on CPU 1 at 4503.712243712, since 4503.651514449
file == 2 {
	match($0, /: [0-9.]+ ms( so far)?, thread /)
	value = substr($0, RSTART + 2) + 0
	match($0, /thread [0-9]+\/[0-9]+/)
	split(substr($0, RSTART, RLENGTH), ids, "/")
	match($0, / at [0-9.]+, since [0-9.]+$/)
	split(substr($0, RSTART), words)
	open = / ms so far, thread /
	at = words[2] + 0
	begin = words[4] + 0
	key = ids[2] " " words[4]
	if (seen[key]++)
		complain("twice: " $0)
	wanted[key] = 1
	if (value <= slow)
		complain("a fast one: " $0)
	for (i = 1; i <= calls; i++) {
		if (tid[i] == ids[2] && since[i] <= begin && at <= until[i] &&
		    (open || until[i] - since[i] - (at - begin) < EDGE / 1e3))
			break
	}
	found[i] = 1
	if (i > calls && !open)
		complain("no such call: " $0)
	if (i > calls && open) {
		unknown[key] = $0
		thread[key] = ids[2]
		noticed[key] = at
	}
	reasons++
}

file == 3 {
	sub(":$", "", $2)
	if ($3 == "exit")
		end[$1] = $2
	if (($1 " " $2) in wanted)
		delete wanted[$1 " " $2]
}

END {
	for (i = 1; i <= calls; i++) {
		if ((until[i] - since[i]) * 1e3 > slow + EDGE) {
			slow_calls++
			if (!(i in found))
				complain("no dump for thread " tid[i] ", " since[i])
		}
	}
	for (key in unknown) {
		if (!(thread[key] in end) || end[thread[key]] < noticed[key])
			complain("the thread isn't known to have ended later: " unknown[key])
	}
	for (key in wanted)
		complain("its beginning isn't in the file: " key)
	print slow_calls + 0 " slow calls, " reasons + 0 " reasons"
	exit bad || !slow_calls
}
