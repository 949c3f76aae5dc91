/*
 * Header blocks (RFC 7541). Indices count back from the newest entry of a table that
 * both ends keep. A decoder that comes late has not seen the older entries, so its
 * table is filled up with the smallest possible ones, under a name that no field has:
 * every index then hits either what was seen or such a stand-in. (With a table larger
 * than the default 4096 bytes an old index may point past them: a broken block.)
 */
#include "capture/wire/http2.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

enum { ENTRY_N = 33, STAND_IN = 0x01 };

struct http2_fields {
	nghttp2_hd_inflater *inflater;
	bool is_broken; /* no memory for a new one */
};

static ssize_t inflate(nghttp2_hd_inflater *i, nghttp2_nv *nv, int *flags, const uint8_t *p,
	size_t n, bool is_final)
{
	*flags = 0;
	return nghttp2_hd_inflate_hd2(i, nv, flags, p, n, is_final);
}

/* The largest table, then literals with incremental indexing: as many as fit into 4096. */
static bool fill(nghttp2_hd_inflater *inflater)
{
	static const uint8_t size_update[] = { 0x3f, 0xe1, 0xff, 0x03 }; /* 65536 */
	static const uint8_t entry[] = { 0x40, 1, STAND_IN, 0 };
	enum { COUNT = 4096 / ENTRY_N };
	nghttp2_nv nv;
	int flags;

	if (nghttp2_hd_inflate_change_table_size(inflater, HTTP2_TABLE_MAX) != 0)
		return false;
	if (inflate(inflater, &nv, &flags, size_update, sizeof size_update, false) < 0)
		return false;
	for (int i = 0; i < COUNT; i++)
		if (inflate(inflater, &nv, &flags, entry, sizeof entry, i == COUNT - 1) < 0)
			return false;
	return nghttp2_hd_inflate_end_headers(inflater) == 0;
}

struct http2_fields *http2_fields_new(bool is_late)
{
	struct http2_fields *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	if (is_late ? http2_fields_restart(f) : nghttp2_hd_inflate_new(&f->inflater) == 0)
		return f;
	http2_fields_free(f);
	return NULL;
}

void http2_fields_free(struct http2_fields *f)
{
	if (!f)
		return;
	if (f->inflater)
		nghttp2_hd_inflate_del(f->inflater);
	free(f);
}

bool http2_fields_restart(struct http2_fields *f)
{
	if (f->inflater)
		nghttp2_hd_inflate_del(f->inflater);
	f->inflater = NULL;
	if (nghttp2_hd_inflate_new(&f->inflater) != 0 || !fill(f->inflater))
		f->is_broken = true;
	return !f->is_broken;
}

void http2_fields_set_table(struct http2_fields *f, uint32_t size)
{
	if (f->inflater && !f->is_broken)
		nghttp2_hd_inflate_change_table_size(
			f->inflater, size < HTTP2_TABLE_MAX ? size : HTTP2_TABLE_MAX);
}

static struct http2_field field_of(const nghttp2_nv *nv)
{
	struct http2_field f = { .name = { (const char *)nv->name, nv->namelen },
		.value = { (const char *)nv->value, nv->valuelen } };

	f.is_unknown = f.name.n == 1 && f.name.p[0] == STAND_IN;
	return f;
}

bool http2_fields_decode(struct http2_fields *f, struct slice block,
	void (*field)(void *data, const struct http2_field *field), void *data)
{
	const uint8_t *p = (const uint8_t *)block.p;
	size_t n = block.n;

	if (f->is_broken)
		return false;
	for (;;) {
		nghttp2_nv nv;
		int flags;
		ssize_t taken = inflate(f->inflater, &nv, &flags, p, n, true);

		if (taken < 0)
			return false;
		p += taken;
		n -= (size_t)taken;
		if (flags & NGHTTP2_HD_INFLATE_EMIT) {
			struct http2_field one = field_of(&nv);

			field(data, &one);
		}
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			return nghttp2_hd_inflate_end_headers(f->inflater) == 0;
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && !n)
			return false;
	}
}
