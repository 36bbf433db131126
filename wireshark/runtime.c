/* packet-dcerpc-pcq.c
 * Routines for the Performance Counter Query Protocol ([MS-PCQ], interface PerflibV2) and for the performance data
 * (winperf.h) that winreg carries in BaseRegQueryValue and BaseRegEnumValue of HKEY_PERFORMANCE_DATA
 *
 * Copyright (C) 2026 the authors of pcq-analyzer
 *
 * Wireshark - Network traffic analyzer
 * By Gerald Combs <gerald@wireshark.org>
 * Copyright 1998 Gerald Combs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

/*
 * Fields, tables, structures and the functions that read them are written by wireshark/generate.py of pcq-analyzer from
 * its descriptions in ksy/. The rest of this file is wireshark/runtime.c there. Change those, not this file.
 */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <epan/packet.h>
#include <epan/expert.h>
#include <epan/dissectors/packet-dcerpc.h>

void proto_register_pcq(void);
void proto_reg_handoff_pcq(void);

/* PerflibV2, version 1.0: [MS-PCQ] section 2.1; winreg: [MS-RRP] section 2.1.1 */
static e_guid_t uuid_pcq = { 0xda5a86c5, 0x12c2, 0x4943, { 0xab, 0x30, 0x7f, 0x74, 0xa8, 0x13, 0xd8, 0x53 } };
static e_guid_t uuid_winreg = { 0x338cd001, 0x2244, 0x31f1, { 0xaa, 0xaa, 0x90, 0x00, 0x38, 0x00, 0x10, 0x03 } };
#define INTERFACE_VERSION 1

static int proto_pcq = -1;
static int proto_winperf = -1;

@VARIABLES@

static int ett_pcq = -1;
static int ett_winperf = -1;

static expert_field ei_pcq_damaged = EI_INIT;

@TABLES@

/* What is known of a call while it is read. */
typedef struct {
    packet_info *pinfo;
    bool         ndr64;
    bool         big_endian;
    bool         has_referent;   /* a referent precedes szMachine, as no IDL asks for */
    unsigned     encoding;       /* byte order of the stub */
    bool         is_silent;      /* nothing is shown: winreg shows its stubs by itself */
    int64_t      status;
    int64_t      request_code;
    int64_t      code_page;
    uint64_t     raw;            /* the last number read */
    proto_item  *item;           /* the last value shown */
    int          name_at;        /* the last text of a stub that is not shown */
    int          name_length;
    int          payload_at;     /* the buffer that a stub carries, and what it is shown below */
    int          payload_length;
    proto_tree  *payload_tree;
} pcq_context;

/* Bytes that a structure is read from. */
typedef struct {
    tvbuff_t *tvb;
    int       start;
    int       stop;
    int       at;
    int64_t   texts;    /* bytes of the texts that were read from it */
} pcq_span;

/* The node of a structure, which gets its length when the structure was read. */
typedef struct {
    proto_item *item;
    proto_tree *tree;
    int         from;
    bool        has_bytes;
} pcq_node;

/* A value that stands for something, or a bit of one. */
typedef struct {
    int64_t     value;
    const char *name;
} pcq_special;

/* What the elements of an NDR array are. */
typedef struct {
    const int *hf;
    const int *ett;
    bool       is_text;
    bool       is_payload;
} pcq_elements;

typedef enum {
    PCQ_UTF16,      /* in the byte order of the structure */
    PCQ_UTF16LE,
    PCQ_CODE_PAGE   /* in the code page that the object states, UTF-16 if it states none */
} pcq_form;

@SPECIALS@

static int64_t
position(const pcq_span *s)
{
    return s->at - s->start;
}

static int64_t
size_of(const pcq_span *s)
{
    return s->stop - s->start;
}

static bool
is_at_end(const pcq_span *s)
{
    return s->at >= s->stop;
}

/* Counts of NDR64 have 64 bits. What is too large for any buffer only has to stay too large. */
static int64_t
product(int64_t one, int64_t other)
{
    return other != 0 && one > INT64_MAX / other ? INT64_MAX : one * other;
}

/* Marks an item as damaged, or the place that was reached if there is none. */
static void
damaged(pcq_context *c, pcq_span *s, proto_tree *tree, proto_item *item, const char *format, ...)
    G_GNUC_PRINTF(5, 6);

static void
damaged(pcq_context *c, pcq_span *s, proto_tree *tree, proto_item *item, const char *format, ...)
{
    va_list arguments;
    char *text;
    int at;

    if (c->is_silent)
        return;
    va_start(arguments, format);
    text = wmem_strdup_vprintf(c->pinfo->pool, format, arguments);
    va_end(arguments);
    at = MAX(MIN(s->at, s->stop - 1), s->start);
    if (item)
        expert_add_info_format(c->pinfo, item, &ei_pcq_damaged, "%s", text);
    else if (at < s->stop)
        proto_tree_add_expert_format(tree, c->pinfo, &ei_pcq_damaged, s->tvb, at, s->stop - at, "%s", text);
    else
        expert_add_info_format(c->pinfo, tree, &ei_pcq_damaged, "%s", text);
}

/* The place of the next bytes. */
static bool
take(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t length, int *at)
{
    c->item = NULL;
    if (length < 0) {
        damaged(c, s, tree, NULL, "%s: a length of %" PRId64, name, length);
        return false;
    }
    if (length > s->stop - s->at) {
        damaged(c, s, tree, NULL, "%s: %" PRId64 " bytes wanted, %d left", name, length, s->stop - s->at);
        return false;
    }
    *at = s->at;
    s->at += (int)length;
    return true;
}

static bool
skip(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t length)
{
    int at;

    return take(c, s, tree, name, length, &at);
}

static bool
take_span(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t length, pcq_span *inner)
{
    int at;

    if (!take(c, s, tree, name, length, &at))
        return false;
    inner->tvb = s->tvb;
    inner->start = inner->at = at;
    inner->stop = s->at;
    inner->texts = 0;
    return true;
}

/* Goes to what has a position of its own. */
static bool
move_to(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name, int64_t offset)
{
    if (offset < 0 || offset > size_of(s)) {
        damaged(c, s, tree, NULL, "%s: an offset of %" PRId64 " in %" PRId64 " bytes", name, offset, size_of(s));
        return false;
    }
    s->at = s->start + (int)offset;
    return true;
}

static pcq_node
open_node(proto_tree *tree, int hf, int ett, const pcq_span *s, int64_t index)
{
    pcq_node node;

    node.from = s->at;
    node.has_bytes = s->at < s->stop;
    node.item = proto_tree_add_item(tree, hf, s->tvb, s->at, s->stop - s->at, ENC_NA);
    if (index >= 0)
        proto_item_append_text(node.item, " [%" PRId64 "]", index);
    node.tree = proto_item_add_subtree(node.item, ett);
    return node;
}

static void
close_node(const pcq_node *node, const pcq_span *s)
{
    if (node->has_bytes && s->at >= node->from)
        proto_item_set_len(node->item, s->at - node->from);
}

static const char *
spelling(int hf)
{
    return hf >= 0 ? proto_registrar_get_nth(hf)->name : "";
}

/* 100 ns since 1601; numbers that PerfTime100nSec may have as a signed one are divided as such. */
static void
time_of(uint64_t raw, bool is_signed, nstime_t *time)
{
    const uint64_t since = raw - UINT64_C(0x019DB1DED53E8000);

    if (is_signed) {
        time->secs = (time_t)((int64_t)since / 10000000);
        time->nsecs = (int)((int64_t)since % 10000000) * 100;
    } else {
        time->secs = (time_t)(since / 10000000);
        time->nsecs = (int)(since % 10000000) * 100;
    }
}

static void
show_number(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, int at, int size, bool is_signed, uint64_t raw)
{
    nstime_t time;

    switch (proto_registrar_get_ftype(hf)) {
    case FT_UINT64:
        c->item = proto_tree_add_uint64(tree, hf, s->tvb, at, size, raw);
        break;
    case FT_INT64:
        c->item = proto_tree_add_int64(tree, hf, s->tvb, at, size, (int64_t)raw);
        break;
    case FT_INT32:
        c->item = proto_tree_add_int(tree, hf, s->tvb, at, size, (int32_t)raw);
        break;
    case FT_ABSOLUTE_TIME:
        time_of(raw, is_signed, &time);
        c->item = proto_tree_add_time(tree, hf, s->tvb, at, size, &time);
        break;
    default:
        c->item = proto_tree_add_uint(tree, hf, s->tvb, at, size, (uint32_t)raw);
    }
}

static bool
read_number(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int hf, int size, bool is_signed,
    int64_t *value)
{
    const bool is_little = encoding == ENC_LITTLE_ENDIAN;
    int at;

    if (!take(c, s, tree, spelling(hf), size, &at))
        return false;
    if (size == 8)
        c->raw = is_little ? tvb_get_letoh64(s->tvb, at) : tvb_get_ntoh64(s->tvb, at);
    else if (size == 4)
        c->raw = is_little ? tvb_get_letohl(s->tvb, at) : tvb_get_ntohl(s->tvb, at);
    else
        c->raw = is_little ? tvb_get_letohs(s->tvb, at) : tvb_get_ntohs(s->tvb, at);
    if (is_signed && size == 4)
        c->raw = (uint64_t)(int64_t)(int32_t)c->raw;
    if (tree)
        show_number(c, s, tree, hf, at, size, is_signed, c->raw);
    if (value)
        *value = is_signed ? (int64_t)c->raw : (int64_t)MIN(c->raw, (uint64_t)INT64_MAX);
    return true;
}

static void
append_special(pcq_context *c, const pcq_special *specials)
{
    for (; specials->name; specials++) {
        if ((int64_t)c->raw == specials->value)
            proto_item_append_text(c->item, " (%s)", specials->name);
    }
}

static void
append_flags(pcq_context *c, const pcq_special *flags)
{
    const char *between = "";

    proto_item_append_text(c->item, " (");
    for (; flags->name; flags++) {
        if (c->raw & (uint64_t)flags->value) {
            proto_item_append_text(c->item, "%s%s", between, flags->name);
            between = " | ";
        }
    }
    proto_item_append_text(c->item, "%s)", *between ? "" : "none");
}

static bool
read_guid(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, unsigned encoding)
{
    int at;

    if (!take(c, s, tree, spelling(hf), 16, &at))
        return false;
    if (tree)
        c->item = proto_tree_add_item(tree, hf, s->tvb, at, 16, encoding);
    return true;
}

/* Bytes before the first NUL of 16 bits, or before the end. */
static int
wide_length(const pcq_span *s, int at, int length, bool *has_end)
{
    int used;

    for (used = 0; used + 2 <= length; used += 2) {
        if (tvb_get_ntohs(s->tvb, at + used) == 0) {
            *has_end = true;
            return used;
        }
    }
    *has_end = false;
    return used;
}

static const char *
wide(pcq_context *c, const pcq_span *s, int at, int length, bool is_big)
{
    if (length == 0)
        return "";
    return (const char *)tvb_get_string_enc(c->pinfo->pool, s->tvb, at, length,
        ENC_UTF_16 | (is_big ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN));
}

static int
narrow_length(const pcq_span *s, int at, int length)
{
    int used;

    for (used = 0; used < length; used++) {
        if (tvb_memeql(s->tvb, at + used, (const uint8_t *)"", 1) == 0)
            break;
    }
    return used;
}

static const char *
narrow(pcq_context *c, const pcq_span *s, int at, int length, int64_t page)
{
    if (length == 0)
        return "";
    return (const char *)tvb_get_string_enc(c->pinfo->pool, s->tvb, at, length,
        page == 1252 ? ENC_WINDOWS_1252 : ENC_ISO_8859_1);
}

static void
show_text(pcq_context *c, const pcq_span *s, proto_tree *tree, unsigned encoding, int hf, pcq_form form, int at,
    int length)
{
    const int64_t page = form == PCQ_CODE_PAGE ? c->code_page : 0;
    bool has_end;
    int used;

    if (page != 0) {
        used = narrow_length(s, at, length);
        c->item = proto_tree_add_string(tree, hf, s->tvb, at, MIN(used + 1, length), narrow(c, s, at, used, page));
        return;
    }
    used = wide_length(s, at, length, &has_end);
    c->item = proto_tree_add_string(tree, hf, s->tvb, at, MIN(used + 2, length),
        wide(c, s, at, used, encoding == ENC_BIG_ENDIAN && form != PCQ_UTF16LE));
}

static bool
read_text(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int hf, pcq_form form, int64_t length)
{
    int at;

    if (!take(c, s, tree, spelling(hf), length, &at))
        return false;
    if (tree && length > 0)
        show_text(c, s, tree, encoding, hf, form, at, (int)length);
    return true;
}

/* The elements of an NDR array, which are a text, a buffer or bytes. */
static bool
read_elements(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, const char *name, int64_t length,
    const pcq_elements *shown)
{
    int at;

    if (!take(c, s, tree, name, length, &at))
        return false;
    if (length == 0)
        return true;
    if (shown->is_text) {
        c->name_at = at;
        c->name_length = (int)length;
    }
    if (tree && shown->hf && shown->is_text)
        show_text(c, s, tree, encoding, *shown->hf, PCQ_UTF16, at, (int)length);
    else if (tree && shown->hf)
        c->item = proto_tree_add_item(tree, *shown->hf, s->tvb, at, (int)length, ENC_NA);
    if (shown->is_payload) {
        c->payload_at = at;
        c->payload_length = (int)length;
        c->payload_tree = shown->ett ? proto_item_add_subtree(c->item, *shown->ett) : NULL;
    }
    return true;
}

/* A text of 16-bit units with a NUL, which has to be there unless the end of the buffer may stand for it. */
static bool
read_terminated(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, bool may_end, int64_t *length)
{
    const int at = s->at;
    const char *text;
    bool has_end;
    int held, used;

    c->item = NULL;
    held = wide_length(s, at, s->stop - at, &has_end);
    if (!has_end && !may_end) {
        damaged(c, s, tree, NULL, "%s: no terminator before the end", spelling(hf));
        return false;
    }
    used = held + (has_end ? 2 : 0);
    s->at = at + used;
    /* Strings may share bytes, but nothing else bounds how many offsets point at the same ones. */
    s->texts += used;
    if (s->texts > 8 * size_of(s)) {
        damaged(c, s, tree, NULL, "%s: %" PRId64 " bytes of texts in %" PRId64, spelling(hf), s->texts, size_of(s));
        return false;
    }
    text = wide(c, s, at, held, false);
    if (tree && used > 0)
        c->item = proto_tree_add_string(tree, hf, s->tvb, at, used, text);
    if (length)
        *length = (int64_t)strlen(text);
    return true;
}

/* The value of a counter of PerflibV2: a number, or a text of 16-bit units. */
static bool
read_value(pcq_context *c, pcq_span *s, proto_tree *tree, int hf, int hf_text, int64_t length)
{
    bool has_end;
    int at;

    if (!take(c, s, tree, spelling(hf), length, &at))
        return false;
    if (!tree || length == 0)
        return true;
    if (length == 4 || length == 8)
        show_number(c, s, tree, hf, at, (int)length, false,
            length == 8 ? tvb_get_letoh64(s->tvb, at) : tvb_get_letohl(s->tvb, at));
    else
        c->item = proto_tree_add_string(tree, hf_text, s->tvb, at, (int)length,
            wide(c, s, at, wide_length(s, at, (int)length, &has_end), false));
    return true;
}

@STRUCTURES@

/* Counters may share bytes, but nothing else bounds how many point at the same ones. */
static bool
check_counter_values(pcq_context *c, pcq_span *s, proto_tree *tree, wmem_array_t *definitions)
{
    int64_t wanted = 0;
    unsigned at;

    for (at = 0; at < wmem_array_get_count(definitions); at++)
        wanted += ((const struct winperf_counter_definition *)wmem_array_index(definitions, at))->counter_size;
    if (wanted <= 8 * (size_of(s) + 4))
        return true;
    damaged(c, s, tree, NULL, "%" PRId64 " bytes of values in a counter block of %" PRId64, wanted, size_of(s) + 4);
    return false;
}

/* winperf.h: the class of a counter type, and which texts are of single bytes. */
#define PERF_TYPE_MASK      0x00000C00
#define PERF_TYPE_TEXT      0x00000800
#define PERF_TEXT_ASCII     0x00010000

/* The value of a counter of winperf: a number, a text, or bytes. */
static bool
read_v1_value(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding, int hf, int hf_text, int hf_bytes,
    const struct winperf_counter_definition *definition)
{
    const int length = (int)MIN(definition->counter_size, INT_MAX);
    const bool is_big = encoding == ENC_BIG_ENDIAN;
    const char *text;
    bool has_end;
    uint64_t raw;
    int at;

    if (!take(c, s, tree, spelling(hf), definition->counter_size, &at))
        return false;
    if (!tree)
        return true;
    if ((definition->counter_type & PERF_TYPE_MASK) == PERF_TYPE_TEXT) {
        if (definition->counter_type & PERF_TEXT_ASCII)
            text = narrow(c, s, at, narrow_length(s, at, length), 0);
        else
            text = wide(c, s, at, wide_length(s, at, length, &has_end), is_big);
        c->item = proto_tree_add_string(tree, hf_text, s->tvb, at, length, text);
    } else if (length == 1 || length == 2 || length == 4 || length == 8) {
        if (length == 8)
            raw = is_big ? tvb_get_ntoh64(s->tvb, at) : tvb_get_letoh64(s->tvb, at);
        else if (length == 4)
            raw = is_big ? tvb_get_ntohl(s->tvb, at) : tvb_get_letohl(s->tvb, at);
        else if (length == 2)
            raw = is_big ? tvb_get_ntohs(s->tvb, at) : tvb_get_letohs(s->tvb, at);
        else
            raw = *tvb_get_ptr(s->tvb, at, 1);
        show_number(c, s, tree, hf, at, length, false, raw);
    } else {
        c->item = proto_tree_add_item(tree, hf_bytes, s->tvb, at, length, ENC_NA);
    }
    proto_item_append_text(c->item, " (counter %" PRId64 ")", definition->counter_name_title_index);
    return true;
}

@ELEMENTS@

@FUNCTIONS@

/* How many offsets of a table of strings, counted from `base`, lead to where the headers or a string just ended. */
static uint32_t
leading(const pcq_span *s, int64_t head, uint32_t count, int64_t base)
{
    uint32_t found = 0, index;

    for (index = 0; index < count; index++) {
        const uint32_t offset = tvb_get_letohl(s->tvb, s->start + 12 + 8 * (int)index);
        const int64_t at = base + offset;

        if (offset == UINT32_MAX || at + 2 > size_of(s))
            continue;
        if (at == head || (at > head && at % 2 == 0 && tvb_get_ntohs(s->tvb, s->start + (int)at - 2) == 0))
            found++;
    }
    return found;
}

/*
 * What the offsets of a table of strings count from. [MS-PCQ] section 2.2.4.4 says the end of the headers, perflib.h of
 * the Windows SDK the start of the block: the end of the headers where more of the offsets fit.
 */
static int64_t
string_base(const pcq_span *s)
{
    uint32_t count;
    int64_t head;

    if (size_of(s) < 8)
        return 0;
    count = tvb_get_letohl(s->tvb, s->start + 4);
    head = 8 + 8 * (int64_t)count;
    if (head > size_of(s))
        return MIN(head, (int64_t)UINT32_MAX);
    return leading(s, head, count, head) > leading(s, head, count, 0) ? head : 0;
}

/* Where values that begin at `at` end; -1 where they do not fit. */
static int64_t
values_end(const pcq_span *s, int64_t at, uint32_t count)
{
    uint32_t index;

    for (index = 0; index < count; index++) {
        uint32_t held, size;

        if (at < 0 || at + 8 > s->stop)
            return -1;
        held = tvb_get_letohl(s->tvb, (int)at);
        size = tvb_get_letohl(s->tvb, (int)at + 4);
        if (size < 8 + (uint64_t)held || at + size > s->stop)
            return -1;
        at += size;
    }
    return at;
}

/* Bytes left when the values of a block are read from `at` on; -1 where they cannot be. */
static int64_t
left_over(const pcq_span *s, int64_t at, bool has_instances, uint32_t count)
{
    uint32_t instances, index;
    int64_t place;

    if (!has_instances) {
        place = values_end(s, at, count);
        return place < 0 ? -1 : s->stop - place;
    }
    if (at + 8 > s->stop)
        return -1;
    place = at + 8;
    instances = tvb_get_letohl(s->tvb, (int)at + 4);
    for (index = 0; index < instances; index++) {
        uint32_t size;

        if (place < 0 || place + 8 > s->stop)
            return -1;
        size = tvb_get_letohl(s->tvb, (int)place);
        if (size < 8 || place + size > s->stop)
            return -1;
        place = values_end(s, place + size, count);
    }
    return place < 0 ? -1 : s->stop - place;
}

/* The bytes behind the ids of counters of one block, `block` without its header, that no size counts: 0 or 4. */
static uint8_t
padding(const pcq_span *s, const pcq_span *block, bool has_instances)
{
    const uint32_t size = tvb_get_letohl(block->tvb, block->start);
    const uint32_t count = tvb_get_letohl(block->tvb, block->start + 4);
    const int64_t after = block->start + (int64_t)size;
    int64_t as_stated, padded;

    if ((size % 8 == 0 && (after - s->start) % 8 == 0) || size < 8 || after > block->stop)
        return 0;
    as_stated = left_over(block, after, has_instances, count);
    if (as_stated == 0)
        return 0;
    padded = left_over(block, after + 4, has_instances, count);
    if (padded == 0)
        return 4;
    if (as_stated > 0 && as_stated < 8)
        return 0;
    return padded > 0 && padded < 8 ? 4 : 0;
}

/* Types of blocks that begin with the ids of their counters */
#define PERF_MULTI_COUNTERS 2
#define PERF_COUNTERSET     6

/* Of each block of performance data, the bytes behind the ids of its counters that no size counts. */
static wmem_array_t *
paddings(pcq_context *c, const pcq_span *s)
{
    wmem_array_t *found = wmem_array_new(c->pinfo->pool, sizeof (uint8_t));
    uint32_t blocks, index;
    pcq_span block = *s;
    int64_t at = s->start + (int64_t)48;

    if (size_of(s) < 48)
        return found;
    blocks = tvb_get_letohl(s->tvb, s->start + 4);
    for (index = 0; index < blocks && at + 16 <= s->stop; index++) {
        const uint32_t kind = tvb_get_letohl(s->tvb, (int)at + 4);
        const uint32_t size = tvb_get_letohl(s->tvb, (int)at + 8);
        uint8_t uncounted = 0;

        if (size < 16 || at + size > s->stop)
            break;
        block.start = (int)at + 16;
        block.stop = (int)(at + size);
        if ((kind == PERF_MULTI_COUNTERS || kind == PERF_COUNTERSET) && size >= 24)
            uncounted = padding(s, &block, kind == PERF_COUNTERSET);
        wmem_array_append_one(found, uncounted);
        at += size;
    }
    return found;
}

static void
begin_stub(pcq_context *c, pcq_span *s, tvbuff_t *tvb, int offset, packet_info *pinfo, dcerpc_info *di, uint8_t *drep)
{
    memset(c, 0, sizeof *c);
    c->pinfo = pinfo;
    c->ndr64 = (di->call_data->flags & DCERPC_IS_NDR64) != 0;
    c->encoding = DREP_ENC_INTEGER(drep);
    c->big_endian = c->encoding == ENC_BIG_ENDIAN;
    c->payload_at = -1;
    s->tvb = tvb;
    s->start = s->at = offset;
    s->texts = 0;
    s->stop = (int)tvb_captured_length(tvb);
}

/* The buffer that QueryCounterSetRegistrationInfo returns, by the code that its request asked for. */
static void
read_registration(pcq_context *c, pcq_span *s, proto_tree *tree, int64_t request_code)
{
    switch (request_code) {
    case 1:
        read_ms_pcq_counterset_info(c, s, tree);
        break;
    case 2:
        read_ms_pcq_counter_info(c, s, tree);
        break;
    case 3:
    case 4:
    case 7:
    case 9:
        read_ms_pcq_string(c, s, tree);
        break;
    case 5:
    case 6:
    case 10:
        read_ms_pcq_string_table(c, s, tree, string_base(s));
        break;
    case 8:
        read_ms_pcq_provider_guid(c, s, tree);
        break;
    }
}

/* Reads what a stub carries. `asked` is what the request of a response asked for. */
static int
end_stub(pcq_context *c, pcq_span *s, proto_tree *tree, dcerpc_info *di, bool is_whole)
{
    const bool is_response = di->ptype == PDU_RESP;
    const unsigned opnum = di->call_data->opnum;
    proto_tree *below = c->payload_tree ? c->payload_tree : tree;
    pcq_span buffer = *s;

    if (!is_response)
        di->call_data->se_data = GUINT_TO_POINTER(is_whole ? (unsigned)c->request_code : 0);
    /* What comes with an error is not laid out as an answer is. */
    if (c->payload_at < 0 || (is_whole && c->status != 0))
        return is_whole ? s->at : s->stop;
    buffer.start = buffer.at = c->payload_at;
    buffer.stop = c->payload_at + c->payload_length;
    switch (opnum) {
    case 0:
        read_ms_pcq_guid_list(c, &buffer, below, c->big_endian);
        break;
    case 1:
        if (is_response)
            read_registration(c, &buffer, below, GPOINTER_TO_UINT(di->call_data->se_data));
        break;
    case 2:
        read_ms_pcq_instance_list(c, &buffer, below);
        break;
    case 5:
    case 7:
        read_ms_pcq_identifier_list(c, &buffer, below);
        break;
    case 6:
        read_ms_pcq_perf_data(c, &buffer, below, paddings(c, &buffer));
        break;
    }
    return is_whole ? s->at : s->stop;
}

@STUBS@

/*
 * Performance data in winreg. The stubs of winreg are shown by its own dissector, whose functions are called first. The
 * buffer in a stub is shown in a tree of its own.
 */
static dcerpc_dissect_fnct_t *winreg_query_request;
static dcerpc_dissect_fnct_t *winreg_query_response;
static dcerpc_dissect_fnct_t *winreg_enum_request;
static dcerpc_dissect_fnct_t *winreg_enum_response;

#define WINREG_ENUM_VALUE   10
#define WINREG_QUERY_VALUE  17

/* The names of the values that calls asked for, by call. */
static wmem_map_t *value_names;

/* Whether a value holds the names or the help texts of counters: `Counter 009`, `Help 409`, `Explain 009`. */
static bool
is_name_table(const char *name)
{
    static const char *const begins[] = { "counter ", "help ", "explain " };
    unsigned at;

    for (at = 0; name && at < G_N_ELEMENTS(begins); at++) {
        if (g_ascii_strncasecmp(name, begins[at], strlen(begins[at])) == 0) {
            const char *language = name + strlen(begins[at]);

            return *language != '\0' && strpbrk(language, " \t\r\n\v\f") == NULL;
        }
    }
    return false;
}

static void
show_performance_data(pcq_context *c, pcq_span *s, proto_tree *tree, const char *name)
{
    static const uint8_t little[8] = { 'P', 0, 'E', 0, 'R', 0, 'F', 0 };
    static const uint8_t big[8] = { 0, 'P', 0, 'E', 0, 'R', 0, 'F' };
    pcq_span buffer = *s;
    proto_item *item;
    proto_tree *below;
    bool is_block;

    if (c->payload_at < 0)
        return;
    buffer.start = buffer.at = c->payload_at;
    buffer.stop = c->payload_at + c->payload_length;
    is_block = c->payload_length >= 8 &&
        (tvb_memeql(s->tvb, buffer.start, little, 8) == 0 || tvb_memeql(s->tvb, buffer.start, big, 8) == 0);
    if (!is_block && (c->status != 0 || !is_name_table(name)))
        return;
    item = proto_tree_add_item(proto_tree_get_root(tree), proto_winperf, s->tvb, buffer.start, c->payload_length,
        ENC_NA);
    below = proto_item_add_subtree(item, ett_winperf);
    c->is_silent = false;
    if (is_block) {
        /* The byte order by the signature, or by LittleEndian behind it */
        const bool is_big = tvb_memeql(s->tvb, buffer.start, big, 8) == 0 ||
            (c->payload_length >= 12 && tvb_get_ntohl(s->tvb, buffer.start + 8) == 0);

        read_winperf(c, &buffer, below, is_big);
    } else {
        read_name_table(c, &buffer, below);
    }
}

typedef bool (*winreg_reader)(pcq_context *c, pcq_span *s, proto_tree *tree, unsigned encoding);

static int
follow_winreg_call(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di, uint8_t *drep,
    dcerpc_dissect_fnct_t *shows, winreg_reader reads)
{
    const char *name = NULL;
    pcq_context context;
    pcq_span span;
    bool is_whole;
    int end;

    end = shows(tvb, offset, pinfo, tree, di, drep);
    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);
    context.is_silent = true;
    is_whole = reads(&context, &span, NULL, context.encoding);
    if (context.name_length > 0 && is_whole) {
        bool has_end;
        const int length = wide_length(&span, context.name_at, context.name_length, &has_end);

        name = wide(&context, &span, context.name_at, length, context.big_endian);
    }
    if (di->ptype != PDU_RESP) {
        if (name && is_name_table(name))
            wmem_map_insert(value_names, di->call_data, wmem_strdup(wmem_file_scope(), name));
        return end;
    }
    if (!name)
        name = (const char *)wmem_map_lookup(value_names, di->call_data);
    if (!is_whole)
        context.status = 1;
    show_performance_data(&context, &span, tree, name);
    return end;
}

static int
dissect_winreg_query_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_query_request,
        read_ms_rrp_stubs_base_reg_query_value_request);
}

static int
dissect_winreg_query_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_query_response,
        read_ms_rrp_stubs_base_reg_query_value_response);
}

static int
dissect_winreg_enum_request(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_enum_request,
        read_ms_rrp_stubs_base_reg_enum_value_request);
}

static int
dissect_winreg_enum_response(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, dcerpc_info *di,
    uint8_t *drep)
{
    return follow_winreg_call(tvb, offset, pinfo, tree, di, drep, winreg_enum_response,
        read_ms_rrp_stubs_base_reg_enum_value_response);
}

/* Puts our functions around those of winreg for the calls that read values. */
static void
follow_winreg(void)
{
    dcerpc_sub_dissector *known = dcerpc_get_proto_sub_dissector(&uuid_winreg, INTERFACE_VERSION);

    for (; known && known->name; known++) {
        if (known->num == WINREG_QUERY_VALUE) {
            winreg_query_request = known->dissect_rqst;
            winreg_query_response = known->dissect_resp;
            known->dissect_rqst = dissect_winreg_query_request;
            known->dissect_resp = dissect_winreg_query_response;
        } else if (known->num == WINREG_ENUM_VALUE) {
            winreg_enum_request = known->dissect_rqst;
            winreg_enum_response = known->dissect_resp;
            known->dissect_rqst = dissect_winreg_enum_request;
            known->dissect_resp = dissect_winreg_enum_response;
        }
    }
}

void
proto_register_pcq(void)
{
    static hf_register_info hf_pcq[] = {
@FIELDS OF PCQ@
    };
    static hf_register_info hf_winperf[] = {
@FIELDS OF WINPERF@
    };
    static int *ett[] = {
        &ett_pcq,
        &ett_winperf,
@NODES@
    };
    static ei_register_info ei[] = {
        { &ei_pcq_damaged, { "pcq.damaged", PI_MALFORMED, PI_ERROR, "Damaged performance data", EXPFILL } },
    };

    proto_pcq = proto_register_protocol("Performance Counter Query Protocol", "PCQ", "pcq");
    proto_winperf = proto_register_protocol("Performance data of HKEY_PERFORMANCE_DATA", "WINPERF", "winperf");
    proto_register_field_array(proto_pcq, hf_pcq, array_length(hf_pcq));
    proto_register_field_array(proto_winperf, hf_winperf, array_length(hf_winperf));
    proto_register_subtree_array(ett, array_length(ett));
    expert_register_field_array(expert_register_protocol(proto_pcq), ei, array_length(ei));
    value_names = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash, g_direct_equal);
}

void
proto_reg_handoff_pcq(void)
{
    dcerpc_init_uuid(proto_pcq, ett_pcq, &uuid_pcq, INTERFACE_VERSION, pcq_dissectors, hf_pcq_opnum);
    follow_winreg();
}

/*
 * Editor modelines  -  https://www.wireshark.org/tools/modelines.html
 *
 * Local variables:
 * c-basic-offset: 4
 * tab-width: 8
 * indent-tabs-mode: nil
 * End:
 *
 * vi: set shiftwidth=4 tabstop=8 expandtab:
 * :indentSize=4:tabSize=8:noTabs=true:
 */
