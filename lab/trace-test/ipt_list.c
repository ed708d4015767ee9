// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the addresses of the instructions that Intel's libipt decodes from the
 * Intel PT data of a perf.data file, process by process, in the order of execution; see
 * usage().
 *
 * Programs must be linked to disjoint addresses, or be named by --only.
 *
 * Exit status: 0; 1 if the decoder found an error or a loss in the trace; 2 if the
 * file can't be read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <intel-pt.h>
#include <linux/perf_event.h>
#include <string.h>

#include "blocks.h"
#include "perf_file.h"

/* From the begin of tracing to its end */
struct window {
	int32_t tid;
	uint64_t time;
	size_t number;
	size_t first, nr;	/* instructions */
};

static struct {
	struct perf_file file;
	struct pt_image *image;
	const char *only;
	uint64_t *addresses;
	size_t nr_addresses;
	struct window *windows;
	size_t nr_windows;
	unsigned int faults;
} the;

#define fault(fmt, ...) do {						\
	fprintf(stderr, "FAULT: " fmt "\n", ##__VA_ARGS__);		\
	the.faults++;							\
} while (0)

static void configure(struct pt_config *config, struct perf_stream *stream)
{
	pt_config_init(config);
	config->begin = stream->bytes;
	config->end = stream->bytes + stream->size;
	/* What most processors write: the PSB+ before a TIP.PGE may have its FUP. */
	config->errata.bdm70 = 1;
}

static void load_image(void)
{
	the.image = pt_image_alloc("programs");
	if (!the.image)
		die("out of memory");

	for (size_t i = 0; i < the.file.nr_mappings; i++) {
		const struct perf_mapping *mapping = &the.file.mappings[i];
		int status;

		if (the.only && strcmp(mapping->path, the.only))
			continue;
		status = pt_image_add_file(the.image, mapping->path, mapping->file_offset,
					   mapping->size, NULL, mapping->address);
		if (status < 0)
			die("%s: %s", mapping->path, pt_errstr(pt_errcode(status)));
	}
}

static bool is_of_only(uint64_t address)
{
	for (size_t i = 0; i < the.file.nr_mappings; i++) {
		const struct perf_mapping *mapping = &the.file.mappings[i];

		if (!strcmp(mapping->path, the.only) && address - mapping->address < mapping->size)
			return true;
	}
	return false;
}

/* ---- packets */

/* The address of this packet, which may depend on earlier ones. */
static uint64_t last_ip(uint64_t last, const struct pt_packet_ip *packet)
{
	switch (packet->ipc) {
	case pt_ipc_update_16:
		return (last & ~0xffffULL) | packet->ip;
	case pt_ipc_update_32:
		return (last & ~0xffffffffULL) | packet->ip;
	case pt_ipc_update_48:
		return (last & ~0xffffffffffffULL) | packet->ip;
	case pt_ipc_sext_48:
		return (uint64_t)((int64_t)(packet->ip << 16) >> 16);
	case pt_ipc_full:
		return packet->ip;
	default:
		return last;
	}
}

struct packet {
	struct pt_packet pt;
	uint64_t offset;
	uint64_t ip;		/* full address, if the packet has one */
	bool has_ip;
	bool in_psb;		/* between PSB and PSBEND */
};

static void complete_packet(struct packet *packet)
{
	switch (packet->pt.type) {
	case ppt_psb:
		packet->in_psb = true;
		packet->ip = 0;
		break;
	case ppt_psbend:
	case ppt_ovf:
		packet->in_psb = false;
		break;
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		packet->ip = last_ip(packet->ip, &packet->pt.payload.ip);
		packet->has_ip = packet->pt.payload.ip.ipc != pt_ipc_suppressed;
		break;
	default:
		break;
	}
}

/* Calls @function for each packet, from the first PSB on. */
static void for_each_packet(struct perf_stream *stream,
			    void (*function)(const struct packet *packet, void *data), void *data)
{
	struct pt_packet_decoder *decoder;
	struct packet packet = { 0 };
	struct pt_config config;
	int status;

	configure(&config, stream);
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		die("out of memory");

	status = pt_pkt_sync_forward(decoder);
	while (status >= 0) {
		packet.has_ip = false;
		pt_pkt_get_offset(decoder, &packet.offset);
		status = pt_pkt_next(decoder, &packet.pt, sizeof(packet.pt));
		if (status < 0)
			break;
		complete_packet(&packet);
		function(&packet, data);
	}
	if (status != -pte_eos)
		fault("AUX area %u, offset 0x%" PRIx64 ": %s", stream->idx, packet.offset,
		      pt_errstr(pt_errcode(status)));
	pt_pkt_free_decoder(decoder);
}

/* The data of a window that --packets prints */
struct packet_window {
	struct perf_stream *stream;
	bool tracing;
	uint64_t time, from, at, offset;
	unsigned int branches, tips;
};

static void print_packet_window(struct packet_window *window, const struct packet *packet)
{
	const struct pt_packet_ip *ip = &packet->pt.payload.ip;

	printf("%u %" PRIx64 " %" PRIu64 " %" PRIx64, window->stream->idx,
	       window->stream->offset + window->offset, window->time, window->from);
	printf(" %" PRIx64, window->at);
	if (ip->ipc == pt_ipc_suppressed)
		printf(" -");
	else
		printf(" %" PRIx64, packet->ip);
	printf(" %u %u\n", window->branches, window->tips);
}

static void list_packet(const struct packet *packet, void *data)
{
	struct packet_window *window = data;

	switch (packet->pt.type) {
	case ppt_tsc:
		window->time = packet->pt.payload.tsc.tsc;
		break;
	case ppt_tip_pge:
		if (window->tracing)
			fault("tracing begins twice, offset 0x%" PRIx64, packet->offset);
		window->tracing = true;
		window->from = packet->ip;
		window->at = 0;
		window->offset = packet->offset;
		window->branches = window->tips = 0;
		break;
	case ppt_fup:
		if (!packet->in_psb)
			window->at = packet->ip;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		window->branches += packet->pt.payload.tnt.bit_size;
		break;
	case ppt_tip:
		window->tips++;
		break;
	case ppt_tip_pgd:
		if (window->tracing)
			print_packet_window(window, packet);
		window->tracing = false;
		break;
	case ppt_ovf:
		fault("overflow, offset 0x%" PRIx64, packet->offset);
		break;
	default:
		break;
	}
}

static void list_packets(struct perf_stream *stream)
{
	struct packet_window window = { .stream = stream };

	for_each_packet(stream, list_packet, &window);
}

/* ---- --only: the trace of one program, cut from the trace of a CPU */

struct cut {
	struct perf_stream *from;
	struct perf_stream to;
	bool copying;
	bool has_mode;
	struct pt_packet_mode mode;	/* the last MODE.Exec */
};

static void put(struct perf_stream *to, const void *bytes, size_t size)
{
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

/* With the full address: the packet that it was relative to may not have been copied. */
static void put_ip_packet(struct perf_stream *to, const struct packet *packet)
{
	unsigned char opcode = packet->pt.type == ppt_fup ? 0x1d :
			       packet->pt.type == ppt_tip ? 0x0d :
			       packet->pt.type == ppt_tip_pge ? 0x11 : 0x01;

	if (packet->has_ip)
		opcode |= pt_ipc_full << 5;
	put(to, &opcode, 1);
	if (packet->has_ip)
		put(to, &packet->ip, sizeof(packet->ip));
}

/* The MODE.Exec before this TIP.PGE may belong to another program's. */
static void put_mode(struct cut *cut)
{
	const struct pt_packet_mode *mode = &cut->mode;
	unsigned char bytes[] = { 0x99, mode->bits.exec.csl | mode->bits.exec.csd << 1 };

	if (cut->has_mode)
		put(&cut->to, bytes, sizeof(bytes));
}

static void cut_packet(const struct packet *packet, void *data)
{
	const void *bytes;
	struct cut *cut = data;

	bytes = cut->from->bytes + packet->offset;
	if (packet->pt.type == ppt_mode && packet->pt.payload.mode.leaf == pt_mol_exec) {
		cut->mode = packet->pt.payload.mode;
		cut->has_mode = true;
	}
	switch (packet->pt.type) {
	case ppt_tip_pge:
		cut->copying = is_of_only(packet->ip);
		if (cut->copying)
			put_mode(cut);
		/* fall through */
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pgd:
		if (cut->copying)
			put_ip_packet(&cut->to, packet);
		cut->copying &= packet->pt.type != ppt_tip_pgd;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_mode:
	case ppt_pip:
		if (cut->copying || packet->in_psb)
			put(&cut->to, bytes, packet->pt.size);
		break;
	default:
		put(&cut->to, bytes, packet->pt.size);
		break;
	}
}

/* A packet with an address grows from one byte to nine at most. */
static void cut_stream(struct perf_stream *stream)
{
	struct cut cut = { .from = stream, .to = *stream };

	cut.to.size = 0;
	cut.to.bytes = malloc(9 * stream->size + 1);
	if (!cut.to.bytes)
		die("out of memory");
	for_each_packet(stream, cut_packet, &cut);
	free(stream->bytes);
	*stream = cut.to;
}

/* ---- instructions */

/* @offset follows the packet that begins the window. */
static void begin_window(const struct perf_stream *stream, uint64_t offset, uint64_t time)
{
	bool owned = offset && !the.only;

	the.windows = grow(the.windows, the.nr_windows, sizeof(*the.windows));
	the.windows[the.nr_windows] = (struct window){
		.tid = owned ? perf_file_owner(&the.file, stream, offset - 1) : 0,
		.time = time,
		.number = the.nr_windows,
		.first = the.nr_addresses,
	};
	the.nr_windows++;
}

static void append(uint64_t address)
{
	the.addresses = grow(the.addresses, the.nr_addresses, sizeof(*the.addresses));
	the.addresses[the.nr_addresses++] = address;
	the.windows[the.nr_windows - 1].nr++;
}

/* The decoder has read the packets of the event, and goes on when the event is taken. */
static int take_event(struct pt_insn_decoder *decoder, const struct perf_stream *stream)
{
	struct pt_event event;
	uint64_t offset = 0;
	int status;

	pt_insn_get_offset(decoder, &offset);
	status = pt_insn_event(decoder, &event, sizeof(event));
	if (status < 0)
		return status;

	if (event.type == ptev_enabled)
		begin_window(stream, offset, event.has_tsc ? event.tsc : 0);
	else if (event.type == ptev_overflow)
		fault("AUX area %u: overflow", stream->idx);
	return status;
}

/*
 * Decodes from a synchronisation point to the end. pts_eos only says that all packets
 * are read: instructions and events may still follow.
 */
static int decode_on(struct pt_insn_decoder *decoder, const struct perf_stream *stream, int status)
{
	struct pt_insn insn;
	uint64_t offset = 0, time = 0;

	/* It may be in the middle of a window whose begin is missing. */
	pt_insn_get_offset(decoder, &offset);
	pt_insn_time(decoder, &time, NULL, NULL);
	begin_window(stream, offset, time);
	for (;;) {
		while (status >= 0 && status & pts_event_pending)
			status = take_event(decoder, stream);
		if (status < 0)
			return status;

		memset(&insn, 0, sizeof(insn));
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		/* An error may come together with the last good instruction. */
		if (insn.iclass != ptic_error)
			append(insn.ip);
		if (status < 0)
			return status;
	}
}

/* Once more, by the block layer: it must find the instructions from @first on. */
static void compare_blocks(const struct pt_config *config, const struct perf_stream *stream,
			   size_t first)
{
	const char *wrong;
	size_t at;

	wrong = blocks_differ(config, the.image, the.addresses + first, the.nr_addresses - first,
			      &at);
	if (wrong)
		fault("AUX area %u: block layer, after %zu instructions: %s", stream->idx, at,
		      wrong);
}

static void decode_stream(struct perf_stream *stream)
{
	size_t first = the.nr_addresses;
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	uint64_t offset;
	int status;

	configure(&config, stream);
	decoder = pt_insn_alloc_decoder(&config);
	if (!decoder || pt_insn_set_image(decoder, the.image) < 0)
		die("out of memory");

	while ((status = pt_insn_sync_forward(decoder)) >= 0) {
		status = decode_on(decoder, stream, status);
		if (status == -pte_eos)
			break;
		offset = 0;
		pt_insn_get_offset(decoder, &offset);
		fault("AUX area %u, offset 0x%" PRIx64 ", after %" PRIx64 ": %s", stream->idx,
		      stream->offset + offset,
		      the.nr_addresses ? the.addresses[the.nr_addresses - 1] : 0,
		      pt_errstr(pt_errcode(status)));
	}
	if (status < 0 && status != -pte_eos)
		fault("AUX area %u: %s", stream->idx, pt_errstr(pt_errcode(status)));
	pt_insn_free_decoder(decoder);
	if (!the.faults)
		compare_blocks(&config, stream, first);
}

static int compare_windows(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void print_instructions(void)
{
	const struct window *window, *last = NULL;
	unsigned int processes = 0;

	qsort(the.windows, the.nr_windows, sizeof(*the.windows), compare_windows);

	for (size_t i = 0; i < the.nr_windows; i++) {
		window = &the.windows[i];
		if (!window->nr)
			continue;
		if (!last || last->tid != window->tid)
			printf("process %u\n", ++processes);
		last = window;
		for (size_t j = 0; j < window->nr; j++)
			printf("%" PRIx64 "\n", the.addresses[window->first + j]);
	}
}

static void check_parts(void)
{
	for (size_t i = 0; i < the.file.nr_parts; i++)
		if (the.file.parts[i].flags & PERF_AUX_FLAG_TRUNCATED)
			fault("truncated at offset 0x%" PRIx64, the.file.parts[i].offset);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: ipt_list [--only PROGRAM] FILE\n"
		"       ipt_list --packets FILE\n"
		"\n"
		"Lists the user space instructions of the Intel PT data in FILE, each process\n"
		"after a line \"process N\", in the order of their thread numbers.\n"
		"\n"
		"  --only PROGRAM  only the code of PROGRAM, as one process (for -a)\n"
		"  --packets       decodes only the packets and lists where tracing was on:\n"
		"                  AUX area, offset, TSC, first address, last FUP's address,\n"
		"                  TIP.PGD's address, numbers of TNT bits and of TIP packets\n");
	exit(STATUS_UNREADABLE);
}

int main(int argc, char **argv)
{
	bool packets = argc == 3 && !strcmp(argv[1], "--packets");

	if (argc == 4 && !strcmp(argv[1], "--only"))
		the.only = argv[2];
	else if (!packets && (argc != 2 || argv[1][0] == '-'))
		usage();

	perf_file_read(&the.file, argv[argc - 1]);
	check_parts();
	if (!packets)
		load_image();

	for (size_t i = 0; i < the.file.nr_streams; i++) {
		struct perf_stream *stream = &the.file.streams[i];

		if (the.only)
			cut_stream(stream);
		if (packets)
			list_packets(stream);
		else
			decode_stream(stream);
	}
	print_instructions();
	return the.faults ? 1 : 0;
}
