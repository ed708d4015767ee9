// SPDX-License-Identifier: GPL-2.0
/*
 * perf's packet decoder, and its decoder of the trace: as with --itrace=q, which reads
 * packets only, without the code that was traced.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "intel-pt-decoder.h"
#include "intel-pt-insn-decoder.h"
#include "intel-pt-log.h"
#include "intel-pt-pkt-decoder.h"
#include "parsers.h"

/* ---- packets */

static const struct {
	enum packet_type type;
	bool has_ip;	/* perf has a type of its own for the packet with a FUP */
} types[] = {
	[INTEL_PT_PAD] = { PACKET_PAD }, [INTEL_PT_TNT] = { PACKET_TNT },
	[INTEL_PT_TIP_PGD] = { PACKET_PGD }, [INTEL_PT_TIP_PGE] = { PACKET_PGE },
	[INTEL_PT_TSC] = { PACKET_TSC }, [INTEL_PT_TMA] = { PACKET_TMA },
	[INTEL_PT_MODE_EXEC] = { PACKET_MODE_EXEC },
	[INTEL_PT_MODE_TSX] = { PACKET_MODE_TSX }, [INTEL_PT_MTC] = { PACKET_MTC },
	[INTEL_PT_TIP] = { PACKET_TIP }, [INTEL_PT_FUP] = { PACKET_FUP },
	[INTEL_PT_CYC] = { PACKET_CYC }, [INTEL_PT_VMCS] = { PACKET_VMCS },
	[INTEL_PT_PSB] = { PACKET_PSB }, [INTEL_PT_PSBEND] = { PACKET_PSBEND },
	[INTEL_PT_CBR] = { PACKET_CBR }, [INTEL_PT_TRACESTOP] = { PACKET_STOP },
	[INTEL_PT_PIP] = { PACKET_PIP }, [INTEL_PT_OVF] = { PACKET_OVF },
	[INTEL_PT_MNT] = { PACKET_MNT }, [INTEL_PT_PTWRITE] = { PACKET_PTW },
	[INTEL_PT_PTWRITE_IP] = { PACKET_PTW, true },
	[INTEL_PT_EXSTOP] = { PACKET_EXSTOP },
	[INTEL_PT_EXSTOP_IP] = { PACKET_EXSTOP, true },
	[INTEL_PT_MWAIT] = { PACKET_MWAIT }, [INTEL_PT_PWRE] = { PACKET_PWRE },
	[INTEL_PT_PWRX] = { PACKET_PWRX }, [INTEL_PT_CFE] = { PACKET_CFE },
	[INTEL_PT_CFE_IP] = { PACKET_CFE }, [INTEL_PT_EVD] = { PACKET_EVD },
};

static bool is_known(enum intel_pt_pkt_type type)
{
	/* PACKET_PAD is 0, as what the table leaves out. */
	return type < sizeof(types) / sizeof(*types) &&
	       (types[type].type || type == INTEL_PT_PAD);
}

/* perf leaves most payloads as they are in the packet. */
static void read_power(struct packet *packet, uint64_t payload)
{
	switch (packet->type) {
	case PACKET_MWAIT:
		packet->value = (uint32_t)payload;
		packet->extra = payload >> 32;
		break;
	case PACKET_PWRE:
		packet->value = payload >> 8 & 0xff;
		packet->extra = payload >> 7 & 1;
		break;
	default:
		packet->value = payload & 0xff;
		packet->extra = payload >> 8 & 0xf;
		break;
	}
}

static void read_payload(struct packet *packet, const struct intel_pt_pkt *perf, uint64_t *ip)
{
	packet->value = perf->payload;
	switch (packet->type) {
	case PACKET_PSB:
		*ip = 0;
		break;
	case PACKET_TNT:
		/* The oldest outcome is in bit 63. */
		packet->extra = perf->count;
		packet->value = perf->count ? perf->payload >> (64 - perf->count) : 0;
		break;
	case PACKET_TIP:
	case PACKET_PGE:
	case PACKET_PGD:
	case PACKET_FUP:
		packet->extra = perf->count;
		packet->value = perf->count ? perf->payload : 0;
		packet->ip = *ip = packet_ip(packet, *ip);
		break;
	case PACKET_PIP:
		packet->value = (perf->payload & ~1ULL) << 4;
		packet->extra = perf->payload & 1;
		break;
	case PACKET_VMCS:
		packet->value = perf->payload << 12;
		break;
	case PACKET_TMA:
		packet->extra = perf->count;
		break;
	case PACKET_CBR:
		packet->value = perf->payload & 0xff;
		break;
	case PACKET_PTW:
		packet->extra = perf->count | types[perf->type].has_ip << 8;
		break;
	case PACKET_EXSTOP:
		packet->value = 0;
		packet->extra = types[perf->type].has_ip;
		break;
	case PACKET_MWAIT:
	case PACKET_PWRE:
	case PACKET_PWRX:
		read_power(packet, perf->payload);
		break;
	default:
		break;
	}
}

static size_t first_psb(const struct stream *stream)
{
	const unsigned char *psb = memmem(stream->bytes, stream->size, INTEL_PT_PSB_STR,
					  INTEL_PT_PSB_LEN);

	return psb ? (size_t)(psb - stream->bytes) : stream->size;
}

/*
 * perf counts padding behind a packet as part of it. The packet alone is the fewest bytes
 * that it takes for one.
 */
static int size_alone(const unsigned char *bytes, int size, enum intel_pt_pkt_ctx context)
{
	struct intel_pt_pkt perf;

	while (size > 1 && intel_pt_get_packet(bytes, size - 1, &perf, &context) == size - 1)
		size--;
	return size;
}

void lex_perf(const struct stream *stream, struct verdict *verdict)
{
	enum intel_pt_pkt_ctx context = INTEL_PT_NO_CTX;
	size_t at = first_psb(stream);
	struct intel_pt_pkt perf;
	uint64_t ip = 0;
	int size;

	for (; at < stream->size; at += size) {
		struct packet packet = { .offset = at };

		size = intel_pt_get_packet(stream->bytes + at, stream->size - at, &perf, &context);
		if (size == INTEL_PT_NEED_MORE_BYTES)
			break;
		if (size <= 0 || !is_known(perf.type)) {
			reject(verdict, at, "bad packet");
			return;
		}
		size = size_alone(stream->bytes + at, size, context);
		packet.size = size;
		packet.type = types[perf.type].type;
		read_payload(&packet, &perf, &ip);
		packets_add(&verdict->packets, &packet);
	}
	verdict->offset = at;
}

/* ---- the decoder */

/* Its log tells where the decoder is. */
bool intel_pt_enable_logging = true;
static uint64_t log_offset;

void __intel_pt_log_packet(const struct intel_pt_pkt *packet, int pkt_len, uint64_t pos,
			   const unsigned char *buf)
{
	(void)packet;
	(void)pkt_len;
	(void)buf;
	log_offset = pos;
}

void __intel_pt_log(const char *fmt, ...)
{
	(void)fmt;
}

struct source {
	const struct stream *stream;
	bool read;
};

static int get_trace(struct intel_pt_buffer *buffer, void *data)
{
	struct source *source = data;

	memset(buffer, 0, sizeof(*buffer));
	if (source->read)
		return 0;
	source->read = true;
	buffer->buf = source->stream->bytes;
	buffer->len = source->stream->size;
	buffer->consecutive = true;
	return 0;
}

static int no_code(struct intel_pt_insn *insn, uint64_t *count, uint64_t *ip, uint64_t to_ip,
		   uint64_t max_count, void *data)
{
	(void)insn;
	(void)count;
	(void)ip;
	(void)to_ip;
	(void)max_count;
	(void)data;
	return -ENOENT;
}

static bool is_incomplete(const struct stream *stream, size_t at)
{
	enum intel_pt_pkt_ctx context = INTEL_PT_NO_CTX;
	struct intel_pt_pkt perf;

	return intel_pt_get_packet(stream->bytes + at, stream->size - at, &perf, &context) ==
	       INTEL_PT_NEED_MORE_BYTES;
}

/*
 * perf calls an overflow an error, which is the hardware's, and an incomplete packet at the
 * end a bad one.
 */
static bool is_fault(const struct stream *stream, int err)
{
	if (err == INTEL_PT_ERR_BADPKT)
		return !is_incomplete(stream, log_offset);
	return err && err != INTEL_PT_ERR_OVR && err != INTEL_PT_ERR_NODATA;
}

static bool is_end(int err)
{
	return err && err != INTEL_PT_ERR_OVR;
}

void follow_perf(const struct stream *stream, struct verdict *verdict)
{
	struct source source = { .stream = stream };
	struct intel_pt_params params = {
		.get_trace = get_trace,
		.walk_insn = no_code,
		.data = &source,
		.branch_enable = true,
		.return_compression = true,
		.quick = 1,
		.max_loops = 100000,
	};
	struct intel_pt_decoder *decoder = intel_pt_decoder_new(&params);
	const struct intel_pt_state *state;
	char why[100];

	log_offset = 0;
	if (!decoder) {
		reject(verdict, 0, "out of memory");
		return;
	}
	do {
		state = intel_pt_decode(decoder);
	} while (!is_end(state->err));
	verdict->offset = log_offset;
	if (is_fault(stream, state->err)) {
		intel_pt__strerror(state->err, why, sizeof(why));
		reject(verdict, log_offset, "%s", why);
	}
	intel_pt_decoder_free(decoder);
}
