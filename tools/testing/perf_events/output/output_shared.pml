/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/events/output_shared.c, access by access. The letters are those of the
 * comment there.
 *
 * Writers are CPUs, and an NMI that comes anywhere on CPU 0, which stands still until
 * the NMI returns. A reader reads and frees what it read.
 *
 * Claimed:
 *   - what is below data_head is what was stored there, up to the end of a record;
 *   - data_head does not go back;
 *   - a word has one writer at a time, whatever data_tail says (SPOIL);
 *   - when nobody writes, everything reserved is published;
 *   - when nobody is on the way out, what complete blocks hold is published, however
 *     many are in flight;
 *   - nobody waits: each writer ends, and a record is lost only if there is no room.
 *
 * One access is one step, in program order: memory that reorders is the litmus tests'
 * business. The words of a record are stored in one step: nobody may look at them in
 * between, and it is the claims that see to that.
 *
 * -DCPUS, -DRECORDS of each, -DNMIS; -DSTART: position where it begins; -DOVERWRITE;
 * -DSPOIL; -DMUTANT_...: breaks one line. See output-spin-check.sh.
 */
#ifndef CPUS
#define CPUS	2
#endif
#ifndef RECORDS
#define RECORDS	1	/* of each CPU */
#endif
#ifndef NMIS
#define NMIS	1
#endif
#ifndef START
#define START	0	/* what was written before */
#endif

#ifndef SMALL
#define SMALL	1	/* sizes of records */
#endif
#ifndef LARGE
#define LARGE	3
#endif

#define SIZE	4	/* of the buffer: two blocks */
#define BLOCK	2
#define MOST	(START + (CPUS * RECORDS + NMIS) * 3 + 1)

#define block_of(pos)	(((pos) % SIZE) / BLOCK)
#define block_start(pos) ((pos) / BLOCK * BLOCK)
#define lap(pos)	((pos) / SIZE * BLOCK)

byte reserved = START;
byte complete = START / BLOCK * BLOCK;
byte committed[2];
byte cut[2];
byte data_head = START;
byte data_tail = START;

/* What the claims need to know */
byte mem[SIZE];		/* position of what is stored, plus one */
byte owner[SIZE];	/* writers that fill this word */
bool is_end[MOST];	/* of a record */
byte had_complete, had_tail;	/* when ->reserved became what it is */
byte leaving;		/* contexts that have committed something and not returned */
byte written, lost;
byte done;
bool nmi;

#ifdef MUTANT_NEST_TO_ZERO
byte nest;
#endif

#ifdef OVERWRITE
#define no_room	(head + size > limit + SIZE)
#else
#ifdef MUTANT_TAIL_DECIDES
#define no_room	(head + size > tail + SIZE)
#else
#define no_room	(head + size > limit + SIZE || head + size > tail + SIZE)
#endif
#endif

/* What only the claims see of a reservation */
inline own()
{
	had_complete = complete;
	had_tail = data_tail;
	is_end[head + size] = true;
	pos = head;
	do
	:: pos < head + size ->
		owner[pos % SIZE]++;
		assert(owner[pos % SIZE] == 1);
		pos++
	:: else -> break
	od
}

/* There was no room when somebody else took the last of it, and nothing lets more in. */
#if defined(SPOIL)
#define LOST_IN_NEED	true
#elif defined(OVERWRITE)
#define LOST_IN_NEED	(head + size > had_complete + SIZE)
#else
#define LOST_IN_NEED	(head + size > had_complete + SIZE || \
			 head + size > had_tail + SIZE)
#endif

inline reserve()
{
	do
#ifdef MUTANT_LIMITS_FIRST
	:: limit = complete;
		tail = data_tail;
		d_step {
			head = reserved;
#else
	:: head = reserved;						/* A */
		limit = complete;					/* B */
		d_step {
			tail = data_tail;				/* C */
#endif
			if
			:: no_room -> room = false
			:: else -> room = true
			fi
		}
		atomic {
			if
			:: reserved == head && room ->			/* D */
				reserved = head + size;
				own();
				break
			:: reserved == head && !room ->
				assert(LOST_IN_NEED);
				lost++;
				goto out
			:: else
			fi
		}
	od
}

/* From here on it is on its way out. */
inline store()
{
	atomic {
		pos = head;
		do
		:: pos < head + size -> mem[pos % SIZE] = pos + 1; pos++
		:: else -> break
		od;
		pos = head;
		leaving++
	}
}

#ifdef MUTANT_NO_CUT
#define CUT	stop
#else
#define CUT	head
#endif

inline commit()
{
	do
	:: d_step {
			pos < head + size ->
			stop = block_start(pos) + BLOCK;
			if
			:: stop < head + size -> cut[block_of(pos)] = CUT
			:: stop == head + size -> cut[block_of(pos)] = stop
			:: else -> stop = head + size
			fi
		}
		d_step {						/* E */
			committed[block_of(pos)] = committed[block_of(pos)] + stop - pos;
			do
			:: pos < stop -> owner[pos % SIZE]--; pos++
			:: else -> break
			od
		}
	:: atomic { pos == head + size -> break }
	od
}

#ifdef MUTANT_COMMITTED_FIRST
#define COMMITTED	(block_of(pos) == 0 -> stop : seen)
#else
#define COMMITTED	committed[block_of(pos)]
#endif

/* What it finds is [was, pos) in complete blocks, and [was, until) for data_head. */
inline scan_complete()
{
#ifdef MUTANT_COMMITTED_FIRST
	atomic { stop = committed[0]; seen = committed[1] };
#endif
	atomic {
		was = complete;						/* F */
		pos = was;
		until = was;
		assert(COMMITTED >= lap(pos))
	}
#ifdef MUTANT_RESERVED_FIRST
	stop = reserved;
#endif
	do
	:: atomic {
			pos == was + SIZE || COMMITTED - lap(pos) < BLOCK ->
			bytes = COMMITTED - lap(pos);	/* G */
			break
		}
	:: atomic {
			pos != was + SIZE && COMMITTED - lap(pos) >= BLOCK;
		}							/* G */
		d_step { until = cut[block_of(pos)]; pos = pos + BLOCK }
	od;
	atomic {
#ifndef MUTANT_RESERVED_FIRST
		stop = reserved;					/* H */
#endif
		if
		:: pos != was + SIZE && stop - pos == bytes -> until = stop
		:: else ->
			if
			:: until > pos -> until = was
			:: else
			fi
		fi
	}
}

#ifdef MUTANT_PLAIN_STORE
#define PAGE_IS_AS_SEEN	true
#else
#define PAGE_IS_AS_SEEN	(data_head == seen)
#endif

inline publish()
{
	atomic {							/* I */
		if
		:: pos > was && complete < pos -> complete = pos
		:: else
		fi
	}
	do
#ifdef MUTANT_BOUND_FIRST
	:: atomic { until > was -> limit = reserved };
		seen = data_head;
#else
	:: atomic { until > was -> seen = data_head };			/* J */
		limit = reserved;					/* K */
#endif
		atomic {						/* L */
			if
			:: seen >= until && seen <= limit -> break
			:: (seen < until || seen > limit) && PAGE_IS_AS_SEEN ->
				data_head = until;
				break
			:: else
			fi
		}
	:: atomic { until <= was -> break }
	od
}

/* A block is complete, and nobody is on the way to report it. */
inline check_delay()
{
	if
	:: leaving == 0 ->
		pos = block_start(data_head);
		assert(committed[block_of(pos)] - lap(pos) < BLOCK ||
		       data_head >= cut[block_of(pos)])
	:: else
	fi
}

inline write_record()
{
	if
	:: size = SMALL
	:: SMALL != LARGE -> size = LARGE
	fi;
#ifdef MUTANT_NEST_TO_ZERO
	nest++;
#endif
	reserve();
	store();
#ifdef MUTANT_SCAN_FIRST
	scan_complete();
	atomic { bytes = pos; pos = head };
	commit();
	pos = bytes;
#else
	commit();
#ifdef MUTANT_NEST_TO_ZERO
	atomic {
		was = 0;
		pos = 0;
		if
		:: nest == 1 -> was = complete; until = reserved; pos = block_start(until)
		:: else
		fi
	};
#else
	scan_complete();
#endif
#endif
	publish();
	atomic { written++; leaving-- };
out:	skip;
#ifdef MUTANT_NEST_TO_ZERO
	nest--;
#endif
	d_step {
		check_delay();
		head = 0; limit = 0; tail = 0; pos = 0; stop = 0; was = 0; until = 0;
		bytes = 0; seen = 0; size = 0; room = false
	}
}

#define LOCALS									\
	byte head, limit, tail, size, pos, stop, was, until, bytes, seen, n;	\
	bool room

proctype cpu0() provided (!nmi)
{
	LOCALS;

	do
	:: n < RECORDS -> write_record(); n++
	:: else -> break
	od;
	done++
}

proctype cpu()
{
	LOCALS;

	do
	:: n < RECORDS -> write_record(); n++
	:: else -> break
	od;
	done++
}

/* CPU 0 stands where it is until the NMI has returned. */
proctype nmis()
{
	LOCALS;

	do
	:: n < NMIS ->
		nmi = true;
		write_record();
		atomic { nmi = false; n++ }
	:: else -> break
	od;
	done++
}

proctype reader()
{
	byte head = START, tail = START;

	do
	:: d_step {
			head != data_head ->				/* R */
			assert(data_head > head);
			head = data_head;
			assert(is_end[head])
		}
#ifndef OVERWRITE
		d_step {
			do
			:: tail < head ->
				assert(mem[tail % SIZE] == tail + 1);
				tail++
			:: else -> break
			od
		};
		data_tail = tail					/* S */
#endif
	:: done == CPUS + 1 && head == data_head -> break
	od
}

#ifdef SPOIL
proctype spoil()
{
	do
	:: data_tail = 0
	:: data_tail = MOST
	:: data_tail = reserved
	:: done == CPUS + 1 -> break
	od
}
#endif

init
{
	byte n;

	atomic {
		had_complete = complete;
		had_tail = data_tail;
		is_end[START] = true;
		committed[0] = START / SIZE * BLOCK +
			(START % SIZE >= BLOCK -> BLOCK : START % SIZE);
		committed[1] = START / SIZE * BLOCK +
			(START % SIZE >= BLOCK -> START % SIZE - BLOCK : 0);
		run cpu0();
		run nmis();
		n = 1;
		do
		:: n < CPUS -> run cpu(); n++
		:: else -> break
		od;
		n = 0;
#ifdef SPOIL
		run spoil();
#else
		run reader();
#endif
	}
	done == CPUS + 1;
	/* Nobody writes. */
	assert(data_head == reserved);
	assert(written + lost == CPUS * RECORDS + NMIS);
}
