/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/events/output_overwrite.c: how writers pass one that is held up, access by access.
 * The letters are those of output_shared.c.
 *
 * CPU 0 may stand still anywhere for as long as it likes, with a record in two blocks. CPU 1 fills
 * the buffer more than once meanwhile. It stands still while an NMI writes there.
 *
 * Claimed:
 *   - a word has one writer at a time;
 *   - what is below data_head is committed, or others have passed its writer;
 *   - when nobody writes, all is committed and published, and each word of the last lap is
 *     what was stored there in that lap, but for the middle of gaps;
 *   - CPU 1 loses nothing, as only CPU 0 is held up. To CPU 0, CPU 1 may be held up, too.
 *
 * -DWORDS, -DNMIS, -DHELD; -DMUTANT_...: breaks one line. See output-spin-check.sh.
 */
#ifndef HELD
#define HELD	1
#endif
#ifndef WORDS
#define WORDS	24	/* that CPU 1 fills, at least */
#endif
#ifndef NMIS
#define NMIS	0	/* on CPU 1 */
#endif

#define BLOCK	3
#define BLOCKS	4
#define SIZE	(BLOCKS * BLOCK)
#define MARGIN	1
#define GAP_MAX	(2 * BLOCK + 3 * MARGIN)
#define FAR	(SIZE - BLOCK)

#define block_of(pos)	(((pos) % SIZE) / BLOCK)
#define block_start(pos) ((pos) / BLOCK * BLOCK)
/* Of the block in its lap: fewer than 0 if it is held */
#define committed_at(pos) (committed[block_of(pos)] - (pos) / SIZE * BLOCK)

byte reserved, complete, data_head;
byte committed[BLOCKS];
byte cut[BLOCKS];

/* What the claims need to know. The numbers are the highest position in the word, plus one. */
byte mem[SIZE];		/* that is stored */
byte gaps_at[SIZE];	/* in the middle of a gap, which nobody stores */
byte done_at[SIZE];	/* that is committed */
byte passed_at[BLOCKS];	/* whose writer was passed */
byte owner[SIZE];	/* writers that fill this word */
byte lost, done;	/* lost by CPU 1 */
bool nmi;	/* on CPU 1 */

#define stored(at) ((at) < from + MARGIN || (at) >= from + size - MARGIN || !gap)

/* [from, from + size) of a record, or of a gap, is reserved. */
inline own()
{
	at = from;
	do
	:: at < from + size ->
		if
		:: stored(at) -> owner[at % SIZE]++; assert(owner[at % SIZE] == 1)
		:: else -> gaps_at[at % SIZE] = at + 1
		fi;
		at++
	:: else -> break
	od;
	at = 0
}

inline store()
{
	d_step {
		at = from;
		do
		:: at < from + size ->
			if
			:: stored(at) -> mem[at % SIZE] = at + 1
			:: else
			fi;
			at++
		:: else -> break
		od;
		at = from
	}
}

inline commit()
{
	do
	:: d_step {							/* E */
			at < from + size;
			stop = block_start(at) + BLOCK;
			if
			:: stop < from + size -> cut[block_of(at)] = from
			:: stop == from + size -> cut[block_of(at)] = stop
			:: else -> stop = from + size
			fi;
			committed[block_of(at)] = committed[block_of(at)] + stop - at;
			do
			:: at < stop ->
				if
				:: stored(at) -> owner[at % SIZE]--
				:: else
				fi;
				if
				:: done_at[at % SIZE] <= at -> done_at[at % SIZE] = at + 1
				:: else
				fi;
				at++
			:: else -> break
			od
		}
	:: atomic { at == from + size -> at = 0; stop = 0; break }
	od
}

#define is_complete(pos) (committed_at(pos) >= BLOCK)

inline publish()
{
	atomic { was = complete; at = was; until = was };		/* F */
	do
	:: atomic {							/* G */
			at != was + SIZE && is_complete(at);
			until = cut[block_of(at)];
			at = at + BLOCK
		}
	:: atomic {
			at == was + SIZE || !is_complete(at);
			bytes = committed_at(at);
			break
		}
	od;
	atomic {							/* H */
		if
		:: at != was + SIZE && reserved - at == bytes -> until = reserved
		:: else ->
			if
			:: until > at || until < was -> until = was
			:: else
			fi
		fi
	};
	atomic {							/* I */
		if
		:: complete < at -> complete = at
		:: else
		fi
	};
	atomic {							/* J, K, L */
		if
		:: until > was && until > data_head ->
			at = data_head;
			do
			:: at < until ->
				assert(done_at[at % SIZE] > at || passed_at[block_of(at)] > at);
				at++
			:: else -> break
			od;
			data_head = until
		:: else
		fi;
		was = 0; until = 0; bytes = 0; at = 0
	}
}

#ifdef MUTANT_ROOM_IS_STALE
#define may_pass(size)	(head >= was)
#else
#define may_pass(size)	(head >= was && head + (size) > was + SIZE)
#endif

/* Make room: publish the oldest block, or pass it. */
inline pass(size)
{
	was = complete;
	if
	:: !may_pass(size) -> was = 0
	:: may_pass(size) && committed_at(was) >= BLOCK -> publish()
	:: may_pass(size) && committed_at(was) < BLOCK ->
		atomic {
			if
			:: complete == was ->
				complete = was + BLOCK;
				passed_at[block_of(was)] = was + BLOCK
			:: else
			fi;
			was = 0
		}
	fi
}

#define fits(size)	(head - block_start(head) + (size) + MARGIN <= SIZE)

#ifdef MUTANT_NO_MARGIN
#define DISTANCE	0
#else
#define DISTANCE	MARGIN
#endif

/* @at: the first held block that a record at @pos would touch, or come close to; @again */
inline find_held(pos)
{
	atomic { at = block_start(pos + BLOCK - 1); again = false };
	do
	:: at < pos + want + DISTANCE && committed_at(at) < 0 -> again = true; break
	:: at < pos + want + DISTANCE && committed_at(at) >= 0 -> at = at + BLOCK
	:: at >= pos + want + DISTANCE -> break
	od
}

/* Keeps @at, the first held block. @again: there is room behind it, or behind more. */
inline finds_room()
{
	stop = at;
	do
	:: again && at + BLOCK + MARGIN - head > FAR -> again = false; break
	:: again && at + BLOCK + MARGIN - head <= FAR ->
		until = at + BLOCK + MARGIN;
		find_held(until)
	:: !again -> again = true; break
	od;
	atomic { at = stop; stop = 0; until = 0 }
}

/* @gap: what the gap takes, if there is one to write; @again: the caller looks again */
inline skip_held()
{
	find_held(head);
	if
	:: again -> finds_room()
	:: else -> again = true; at = 0; goto none
	fi;
	if
	:: again && at - head > 2 * MARGIN ->
		size = at - head - MARGIN
	:: again && at - head <= 2 * MARGIN ->
		do
		:: true ->
			at = at + BLOCK;
			size = at + MARGIN - head;
			if
			:: size > GAP_MAX || !fits(size) -> size = 0; again = false; break
			:: size <= GAP_MAX && fits(size) && head + size > complete + SIZE -> /* B */
				until = size;
				size = 0;
				pass(until);
				break
			:: else
			fi;
#ifdef MUTANT_ONE_BLOCK
			break
#else
			if
			:: committed_at(at) < 0
			:: else -> break
			fi
#endif
		od
	:: else
	fi;
	atomic { at = 0; until = 0; stop = 0 };
	if
	:: again && size > 0 ->
		gap = true;
		atomic {						/* D */
			if
			:: reserved == head ->
				from = head;
				reserved = head + size;
				own()
			:: else -> size = 0
			fi
		};
		if
		:: size > 0 -> store(); commit()
		:: else
		fi;
		atomic { gap = false; size = 0; from = 0 }
	:: else
	fi;
	held = true;
none:	skip
}

inline write_record()
{
	do
	:: atomic { head = reserved; again = true; held = false };	/* A */
		if
		:: !fits(want) -> again = false; held = true
		:: fits(want) && head + want > complete + SIZE ->	/* B */
			pass(want);
			held = true
		:: else ->
#ifndef MUTANT_NO_GAP
			skip_held()
#endif
		fi;
		if
		:: !again && reserved == head -> lost = lost + passes; break
		:: held && (again || reserved != head)
		:: !held ->
			atomic {					/* D */
				if
				:: reserved == head ->
					from = head;
					size = want;
					reserved = head + size;
					own()
				:: else -> held = true
				fi
			};
			if
			:: held
			:: !held ->
				store();
				commit();
				publish();
				break
			fi
		fi
	od;
	atomic { head = 0; from = 0; size = 0; again = false; held = false; at = 0 }
}

#define LOCALS							\
	byte head, from, want, size, at, stop, was, until, n;	\
	short bytes;						\
	bool gap, again, held, passes

proctype held_up()
{
	LOCALS;

	do
	:: n < HELD -> want = 2; write_record(); n++
	:: else -> break
	od;
	done++
}

/* The first record decides where the others meet the ends of blocks. */
proctype writer() provided (!nmi)
{
	LOCALS;

	passes = true;
	do
	:: reserved < WORDS ->
		if
		:: n == 0 -> want = 1; n = 1
		:: want = 2; n = 1
		fi;
		write_record()
	:: else -> break
	od;
	done++
}

/* Comes when CPU 0 was passed, if it is: the rest is the business of output_shared.pml. */
proctype nmis()
{
	LOCALS;

	passed_at[0] > 0 || done == 2;
	do
	:: n < NMIS ->
		nmi = true;
		want = 2;
		write_record();
		atomic { nmi = false; n++ }
	:: else -> break
	od;
	done++
}

init
{
	byte at;

	atomic {
		run held_up();
		run writer();
		run nmis()
	}
	done == 3;

	d_step {
		assert(data_head == reserved);
		at = (reserved > SIZE -> reserved - SIZE : 0);
		do
		:: at < reserved ->
			assert(mem[at % SIZE] == at + 1 || gaps_at[at % SIZE] == at + 1);
			at++
		:: else -> break
		od;
		at = 0;
		do
		:: at < BLOCKS ->
			assert(committed[at] == reserved / SIZE * BLOCK +
			       (reserved % SIZE >= (at + 1) * BLOCK -> BLOCK :
				(reserved % SIZE > at * BLOCK ->
				 reserved % SIZE - at * BLOCK : 0)));
			at++
		:: else -> break
		od
	};
	assert(lost == 0 || NMIS > 0)
}
