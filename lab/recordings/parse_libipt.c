// SPDX-License-Identifier: GPL-2.0
/*
 * libipt, Intel's decoder: its packet and its query layer. Its instruction and block layers
 * need the memory of what was traced, which a raw stream doesn't have.
 */
#include <intel-pt.h>
#include <stdio.h>
#include <string.h>

#include "parsers.h"

static void configure(struct pt_config *config, const struct stream *stream)
{
	pt_config_init(config);
	config->begin = (uint8_t *)stream->bytes;
	config->end = config->begin + stream->size;
	/*
	 * A stream doesn't say which processor wrote it. These errata let libipt accept what
	 * it rejects otherwise, and change nothing where they don't apply: a FUP in the PSB+
	 * before a TIP.PGE; a TIP.PGD after OVF; a FUP after OVF while tracing is off.
	 */
	config->errata.bdm70 = 1;
	config->errata.apl11 = 1;
	config->errata.apl12 = 1;
}

/* ---- packets */

static const struct {
	enum pt_packet_type ipt;
	enum packet_type type;
} types[] = {
	{ ppt_pad, PACKET_PAD }, { ppt_psb, PACKET_PSB }, { ppt_psbend, PACKET_PSBEND },
	{ ppt_ovf, PACKET_OVF }, { ppt_stop, PACKET_STOP }, { ppt_tnt_8, PACKET_TNT },
	{ ppt_tnt_64, PACKET_TNT }, { ppt_tip, PACKET_TIP }, { ppt_tip_pge, PACKET_PGE },
	{ ppt_tip_pgd, PACKET_PGD }, { ppt_fup, PACKET_FUP }, { ppt_pip, PACKET_PIP },
	{ ppt_vmcs, PACKET_VMCS }, { ppt_tsc, PACKET_TSC }, { ppt_tma, PACKET_TMA },
	{ ppt_mtc, PACKET_MTC }, { ppt_cyc, PACKET_CYC }, { ppt_cbr, PACKET_CBR },
	{ ppt_ptw, PACKET_PTW }, { ppt_exstop, PACKET_EXSTOP }, { ppt_mwait, PACKET_MWAIT },
	{ ppt_pwre, PACKET_PWRE }, { ppt_pwrx, PACKET_PWRX }, { ppt_mnt, PACKET_MNT },
};

static enum packet_type type_of(const struct pt_packet *ipt)
{
	if (ipt->type == ppt_mode)
		return ipt->payload.mode.leaf == pt_mol_tsx ? PACKET_MODE_TSX :
							      PACKET_MODE_EXEC;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].ipt == ipt->type)
			return types[i].type;
	return PACKET_TYPES;
}

static void read_mode(struct packet *packet, const struct pt_packet_mode *mode)
{
	static const unsigned char bits[] = {
		[ptem_16bit] = 16, [ptem_32bit] = 32, [ptem_64bit] = 64,
	};

	if (packet->type == PACKET_MODE_TSX)
		packet->value = mode->bits.tsx.intx | mode->bits.tsx.abrt << 1;
	else
		packet->value = bits[pt_get_exec_mode(&mode->bits.exec)];
}

static void read_power(struct packet *packet, const struct pt_packet *ipt)
{
	const struct pt_packet_pwre *pwre = &ipt->payload.pwre;
	const struct pt_packet_pwrx *pwrx = &ipt->payload.pwrx;

	switch (packet->type) {
	case PACKET_EXSTOP:
		packet->extra = ipt->payload.exstop.ip;
		break;
	case PACKET_MWAIT:
		packet->value = ipt->payload.mwait.hints;
		packet->extra = ipt->payload.mwait.ext;
		break;
	case PACKET_PWRE:
		packet->value = pwre->state << 4 | pwre->sub_state;
		packet->extra = pwre->hw;
		break;
	default:
		packet->value = pwrx->last << 4 | pwrx->deepest;
		packet->extra = pwrx->interrupt | pwrx->store << 2 | pwrx->autonomous << 3;
		break;
	}
}

static void read_payload(struct packet *packet, const struct pt_packet *ipt, uint64_t *ip)
{
	switch (packet->type) {
	case PACKET_PSB:
		*ip = 0;
		break;
	case PACKET_TNT:
		packet->value = ipt->payload.tnt.payload;
		packet->extra = ipt->payload.tnt.bit_size;
		break;
	case PACKET_TIP:
	case PACKET_PGE:
	case PACKET_PGD:
	case PACKET_FUP:
		packet->value = ipt->payload.ip.ip;
		packet->extra = ipt->payload.ip.ipc;
		packet->ip = *ip = packet_ip(packet, *ip);
		break;
	case PACKET_MODE_EXEC:
	case PACKET_MODE_TSX:
		read_mode(packet, &ipt->payload.mode);
		break;
	case PACKET_PIP:
		packet->value = ipt->payload.pip.cr3;
		packet->extra = ipt->payload.pip.nr;
		break;
	case PACKET_VMCS:
		packet->value = ipt->payload.vmcs.base;
		break;
	case PACKET_TSC:
		packet->value = ipt->payload.tsc.tsc;
		break;
	case PACKET_TMA:
		packet->value = ipt->payload.tma.ctc;
		packet->extra = ipt->payload.tma.fc;
		break;
	case PACKET_MTC:
		packet->value = ipt->payload.mtc.ctc;
		break;
	case PACKET_CYC:
		packet->value = ipt->payload.cyc.value;
		break;
	case PACKET_CBR:
		packet->value = ipt->payload.cbr.ratio;
		break;
	case PACKET_MNT:
		packet->value = ipt->payload.mnt.payload;
		break;
	case PACKET_PTW:
		packet->value = ipt->payload.ptw.payload;
		packet->extra = ipt->payload.ptw.plc | ipt->payload.ptw.ip << 8;
		break;
	case PACKET_EXSTOP:
	case PACKET_MWAIT:
	case PACKET_PWRE:
	case PACKET_PWRX:
		read_power(packet, ipt);
		break;
	default:
		break;
	}
}

/* Returns libipt's status. */
static int next_packet(struct pt_packet_decoder *decoder, struct verdict *verdict, uint64_t *ip)
{
	struct pt_packet ipt;
	struct packet packet = { 0 };
	int status;

	pt_pkt_get_offset(decoder, &packet.offset);
	verdict->offset = packet.offset;
	status = pt_pkt_next(decoder, &ipt, sizeof(ipt));
	if (status < 0)
		return status;

	packet.size = ipt.size;
	packet.type = type_of(&ipt);
	if (packet.type == PACKET_TYPES)
		return -pte_bad_opc;
	read_payload(&packet, &ipt, ip);
	packets_add(&verdict->packets, &packet);
	return 0;
}

void lex_libipt(const struct stream *stream, struct verdict *verdict)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	uint64_t ip = 0;
	int status;

	configure(&config, stream);
	decoder = pt_pkt_alloc_decoder(&config);
	status = decoder ? pt_pkt_sync_forward(decoder) : -pte_nomem;
	while (status >= 0)
		status = next_packet(decoder, verdict, &ip);
	if (status != -pte_eos)
		reject(verdict, verdict->offset, "%s", pt_errstr(pt_errcode(status)));
	pt_pkt_free_decoder(decoder);
}

/* ---- queries */

/*
 * A caller with the traced code would know whether to ask for a conditional or an indirect
 * branch. Without it the trace itself says which comes next.
 */
static int next_query(struct pt_query_decoder *decoder, int status)
{
	struct pt_event event;
	uint64_t ip;
	int taken;

	if (status & pts_event_pending)
		return pt_qry_event(decoder, &event, sizeof(event));
	status = pt_qry_cond_branch(decoder, &taken);
	if (status != -pte_bad_query)
		return status;
	return pt_qry_indirect_branch(decoder, &ip);
}

void follow_libipt(const struct stream *stream, struct verdict *verdict)
{
	struct pt_query_decoder *decoder;
	struct pt_config config;
	uint64_t ip;
	int status;

	configure(&config, stream);
	decoder = pt_qry_alloc_decoder(&config);
	status = decoder ? pt_qry_sync_forward(decoder, &ip) : -pte_nomem;
	while (status >= 0) {
		pt_qry_get_offset(decoder, &verdict->offset);
		status = next_query(decoder, status);
	}
	if (status != -pte_eos) {
		pt_qry_get_offset(decoder, &verdict->offset);
		reject(verdict, verdict->offset, "%s", pt_errstr(pt_errcode(status)));
	}
	pt_qry_free_decoder(decoder);
}
