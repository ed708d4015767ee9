/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/events/output_lease.c and output_overwrite.c: a lease of CPU 0 in a block that others
 * pass and cover, access by access. The letters are those of output_shared.c.
 *
 * On CPU 0 a task writes. It stands still while an NMI does. Other CPUs write without leases.
 * A lease is a block: two records of a word, and a word that stays padding. A record outside
 * leases is a block, too, and so is a gap. When and what is published is the business of
 * output_overwrite.pml: here the oldest block goes when others need room.
 *
 * Claimed:
 *   - a record outside leases has its block for itself;
 *   - a record that begins when others have covered a lease isn't put into that;
 *   - a record that others cover before it ends is counted as lost;
 *   - each context of CPU 0 finds room above what it wrote before (L3);
 *   - after the last tick everything is committed, once (L2).
 *
 * -DTASK, -DNMIS, -DCPUS, -DLAST; -DMUTANT_...: breaks one line. See output-spin-check.sh.
 */
#ifndef TASK
#define TASK	1	/* records of the task */
#endif
#ifndef NMIS
#define NMIS	0	/* of NMIs on CPU 0 */
#endif
#ifndef CPUS
#define CPUS	1	/* the others */
#endif
#ifndef LAST
#define LAST	3	/* they write until so many blocks are reserved */
#endif

#define BLOCKS	2
#define WORDS	3	/* of a block */
#define NONE	200
#define BUSY	201
#define ASKED	202

/* In blocks, and in words of each block */
byte reserved, complete;
byte committed[BLOCKS];

/* The lease: positions in words, and the block */
byte lease_pos = NONE, lease_committed = NONE, lease_room, lease_start;
bool lease_live;

bool nmi;	/* CPU 0 is interrupted */

/* What the claims need to know */
byte users[BLOCKS];	/* a lease, or a record */
byte last[2];
byte done;

#define covers(block)	(reserved > (block) + BLOCKS)

inline end_leases(block)
{
	n = lease_start;
	if
	:: n == block ->
#ifndef MUTANT_KEEPS_ROOM
		lease_room = 0;
#endif
#ifndef MUTANT_KEEPS_LIVE
		lease_live = false
#endif
	:: else
	fi;
	n = 0
}

/* Make room: the oldest block is complete, or is passed. */
inline pass()
{
	was = complete;
#ifdef MUTANT_ENDS_PASSED
	if
	:: head >= was && head + 1 > was + BLOCKS -> end_leases(was)
	:: else
	fi;
#endif
	atomic {
		if
		:: head >= was && head + 1 > was + BLOCKS && complete == was ->
			complete = was + 1
		:: else
		fi;
		was = 0
	}
}

/* @start: the block; or @no_room, if this one and the next are held */
inline reserve()
{
	no_room = false;
	do
	:: true ->
		head = reserved;					/* A */
		was = complete;						/* B */
		if
		:: head + 1 > was + BLOCKS -> pass()
		:: else ->
			was = 0;
			if
			:: committed[head % BLOCKS] >= head / BLOCKS * WORDS ->
				atomic {				/* D */
					if
					:: reserved == head ->
						reserved++;
						assert(users[head % BLOCKS] == 0);
						users[head % BLOCKS]++;
						start = head;
						break
					:: else
					fi
				}
			:: committed[head % BLOCKS] < head / BLOCKS * WORDS ->
				/* Held. There must be room behind it. */
				if
				:: committed[(head + 1) % BLOCKS] < (head + 1) / BLOCKS * WORDS ->
					atomic {
						if
						:: reserved == head -> no_room = true; break
						:: else
						fi
					}
				:: else ->
#if !defined(MUTANT_KEEPS_LEASE) && !defined(MUTANT_ENDS_PASSED)
					end_leases(head - BLOCKS);
#endif
					atomic {			/* D */
						if
						:: reserved == head -> reserved++
						:: else -> head = NONE
						fi
					};
					if
					:: head != NONE ->
						committed[head % BLOCKS] =
							committed[head % BLOCKS] + WORDS
					:: else
					fi
				fi
			fi
		fi
	od;
	atomic { head = 0; was = 0 }
}

/* Commit the lease in block @block, but @part words. */
inline end_lease(block, part)
{
	atomic {
		committed[(block) % BLOCKS] = committed[(block) % BLOCKS] + WORDS - (part);
		users[(block) % BLOCKS]--
	};
	lease_pos = NONE
}

inline close_lease()
{
	p = lease_pos;
	do
	:: p == NONE || p == ASKED -> break
	:: p == BUSY ->
		atomic {
			if
			:: lease_pos == p -> lease_pos = ASKED; break
			:: else -> p = lease_pos
			fi
		}
	:: p < NONE ->
		atomic {
			if
			:: lease_pos == p -> lease_pos = BUSY
			:: else -> p = lease_pos; goto again
			fi
		}
		c = lease_committed;
		lease_committed = NONE;
		end_lease(lease_start, p - c);
		break;
again:		skip
	od;
	atomic { p = 0; c = 0 }
}

/* @opened tells whether there is a new lease */
inline open_lease()
{
	opened = false;
	atomic {
		p = lease_pos;
		if
		:: p == NONE -> lease_pos = BUSY
		:: else
		fi
	}
	if
	:: p != NONE
	:: p == NONE ->
		reserve();
		if
		:: no_room -> lease_pos = NONE
		:: else ->
#ifdef MUTANT_PASSED_UNSEEN
			was = complete;
#endif
			lease_start = start;
			lease_live = true;
			lease_room = start * WORDS + WORDS - 1;
			lease_committed = start * WORDS;
#ifndef MUTANT_PASSED_UNSEEN
			was = complete;
#endif
			atomic {
				if
				:: was <= start && lease_pos == BUSY ->
					lease_pos = start * WORDS;
					opened = true
				:: else
				fi;
				was = 0
			}
			if
			:: opened
			:: else ->
				lease_committed = NONE;
				end_lease(start, 0)
			fi
		fi
	fi;
	atomic { p = 0; start = 0; no_room = false }
}

/* The record is at @word, or, outside the lease, in block @start. */
inline own(level, at)
{
	assert(at >= last[level]);
	last[level] = at + 1
}

#define lost()								\
	if								\
	:: covers(start) -> counted = true				\
	:: else								\
	fi

inline write_record(level)
{
	began = reserved;
	do
	:: true ->
		p = lease_pos;
		c = lease_room;
		if
		:: p < c ->
			atomic {
				if
				:: lease_pos == p ->
					lease_pos = p + 1;
					start = p / WORDS;
					own(level, p);
					assert(began <= start + BLOCKS);
					users[start % BLOCKS]++;
					break
				:: else
				fi
			}
		:: else ->
			atomic { p = 0; c = 0 };
			close_lease();
			if
			:: open_lease()
			:: opened = false
			fi;
			if
			:: opened
			:: else -> goto single
			fi
		fi
	od;
	atomic { p = 0; c = 0 };

	/* Commit in the lease. */
	do
	:: true ->
		c = lease_committed;
		opened = lease_live;
		p = lease_start;
		if
		:: c == NONE || !opened || p != start -> goto alone
		:: else ->
			atomic {
				if
				:: lease_committed == c ->
					lease_committed = c + 1;
					users[start % BLOCKS]--;
					covered = covers(start);
					break
				:: else
				fi
			}
		fi
	od;
#ifndef MUTANT_COUNTS_NONE
	opened = lease_live;
	p = lease_start;
	if
	:: opened && p == start
	:: else -> lost()
	fi;
#endif
	goto ended;

alone:	atomic {
		committed[start % BLOCKS]++;
		users[start % BLOCKS]--;
		covered = covers(start)
	};
	lost();
	goto ended;

single:	reserve();
	close_lease();
	if
	:: no_room
	:: else ->
		atomic {
			own(level, start * WORDS);
			committed[start % BLOCKS] = committed[start % BLOCKS] + WORDS;
			users[start % BLOCKS]--;
			covered = covers(start)
		};
		lost()
	fi;
ended:	atomic {
		assert(!covered || counted);
		began = 0; start = 0; p = 0; c = 0; n = 0;
		opened = false; no_room = false; covered = false; counted = false
	}
}

#define LOCALS	byte began, start, head, was, p, c, n, i; bool opened, no_room, covered, counted

proctype task() provided (!nmi)
{
	LOCALS;

	do
	:: i < TASK -> write_record(0); i++
	:: else -> break
	od;
	done++
}

proctype nmis()
{
	LOCALS;

	do
	:: i < NMIS ->
		nmi = true;
		write_record(1);
		atomic { nmi = false; i++ }
	:: else -> break
	od;
	done++
}

proctype others()
{
	byte start, head, was, n;
	bool no_room;

	do
	:: reserved < LAST ->
		reserve();
		if
		:: no_room
		:: else ->
			atomic {
				committed[start % BLOCKS] = committed[start % BLOCKS] + WORDS;
				users[start % BLOCKS]--
			}
		fi;
		atomic { start = 0; no_room = false }
	:: else -> break
	od;
	done++
}

init
{
	byte p, c, n;

	atomic {
		run task();
		run nmis();
		do
		:: n < CPUS -> run others(); n++
		:: else -> break
		od;
		n = 0
	}
	done == 2 + CPUS;
	close_lease();	/* the last tick */
	do
	:: n < BLOCKS ->
		assert(users[n] == 0);
		assert(committed[n] == (reserved + BLOCKS - 1 - n) / BLOCKS * WORDS);
		n++
	:: else -> break
	od
}
