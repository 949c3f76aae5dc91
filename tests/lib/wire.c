#include "tests/lib/wire.h"

#include <stdarg.h>

static void add_u16(struct buf *b, unsigned v)
{
	buf_add_byte(b, (unsigned char)(v >> 8));
	buf_add_byte(b, (unsigned char)v);
}

static void add_u32(struct buf *b, uint32_t v)
{
	add_u16(b, v >> 16);
	add_u16(b, v & 0xffff);
}

static void add_cstring(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text) + 1);
}

void wire_message(struct buf *b, char type, struct slice body)
{
	buf_add_byte(b, (unsigned char)type);
	add_u32(b, (uint32_t)body.n + 4);
	buf_add_slice(b, body);
}

static void finish(struct buf *b, char type, struct buf *body)
{
	wire_message(b, type, buf_slice(body));
	buf_free(body);
}

void wire_startup(struct buf *b, uint32_t code, const char *user, const char *database)
{
	struct buf body = { 0 };

	add_u32(&body, code);
	add_cstring(&body, "user");
	add_cstring(&body, user);
	add_cstring(&body, "database");
	add_cstring(&body, database);
	buf_add_byte(&body, 0);
	add_u32(b, (uint32_t)body.n + 4);
	buf_add_slice(b, buf_slice(&body));
	buf_free(&body);
}

void wire_code(struct buf *b, uint32_t code)
{
	add_u32(b, 8);
	add_u32(b, code);
}

void wire_query(struct buf *b, const char *text)
{
	wire_message(b, 'Q', (struct slice){ text, strlen(text) + 1 });
}

void wire_parse(struct buf *b, const char *name, const char *text)
{
	struct buf body = { 0 };

	add_cstring(&body, name);
	add_cstring(&body, text);
	add_u16(&body, 0);
	finish(b, 'P', &body);
}

void wire_bind(struct buf *b, const char *portal, const char *statement, ...)
{
	struct buf body = { 0 }, values = { 0 };
	unsigned count = 0;
	const char *value;
	va_list ap;

	add_cstring(&body, portal);
	add_cstring(&body, statement);
	add_u16(&body, 0);
	va_start(ap, statement);
	while ((value = va_arg(ap, const char *))) {
		add_u32(&values, (uint32_t)strlen(value));
		buf_add_text(&values, value);
		count++;
	}
	va_end(ap);
	add_u16(&body, count);
	buf_add_slice(&body, buf_slice(&values));
	add_u16(&body, 0);
	buf_free(&values);
	finish(b, 'B', &body);
}

void wire_execute(struct buf *b, const char *portal, uint32_t limit)
{
	struct buf body = { 0 };

	add_cstring(&body, portal);
	add_u32(&body, limit);
	finish(b, 'E', &body);
}

static void named(struct buf *b, char type, char what, const char *name)
{
	struct buf body = { 0 };

	buf_add_byte(&body, (unsigned char)what);
	add_cstring(&body, name);
	finish(b, type, &body);
}

void wire_describe(struct buf *b, char what, const char *name)
{
	named(b, 'D', what, name);
}

void wire_close(struct buf *b, char what, const char *name)
{
	named(b, 'C', what, name);
}

void wire_sync(struct buf *b)
{
	wire_bare(b, 'S');
}

void wire_ready(struct buf *b, char state)
{
	wire_message(b, 'Z', (struct slice){ &state, 1 });
}

void wire_done(struct buf *b, const char *tag)
{
	wire_message(b, 'C', (struct slice){ tag, strlen(tag) + 1 });
}

void wire_row(struct buf *b, const char *value)
{
	struct buf body = { 0 };

	add_u16(&body, 1);
	add_u32(&body, (uint32_t)strlen(value));
	buf_add_text(&body, value);
	finish(b, 'D', &body);
}

void wire_columns(struct buf *b, const char *name, uint32_t type_oid)
{
	struct buf body = { 0 };

	add_u16(&body, 1);
	add_cstring(&body, name);
	add_u32(&body, 0);
	add_u16(&body, 0);
	add_u32(&body, type_oid);
	add_u16(&body, 8);
	add_u32(&body, 0);
	add_u16(&body, 0);
	finish(b, 'T', &body);
}

void wire_error(struct buf *b, const char *sqlstate)
{
	struct buf body = { 0 };

	add_cstring(&body, "SERROR");
	buf_add_byte(&body, 'C');
	add_cstring(&body, sqlstate);
	add_cstring(&body, "Msomething");
	buf_add_byte(&body, 0);
	finish(b, 'E', &body);
}

void wire_bare(struct buf *b, char type)
{
	wire_message(b, type, (struct slice){ 0 });
}

void wire_frame(struct buf *b, const struct wire_segment *s)
{
	buf_reset(b);
	for (int i = 0; i < 12; i++)
		buf_add_byte(b, 2);
	add_u16(b, 0x0800);
	buf_add_byte(b, 0x45);
	buf_add_byte(b, 0);
	add_u16(b, (unsigned)(40 + s->payload.n));
	add_u32(b, 0);
	buf_add_byte(b, 64);
	buf_add_byte(b, 6);
	add_u16(b, 0);
	add_u32(b, 0x0a000000u | s->from_ip);
	add_u32(b, 0x0a000000u | s->to_ip);
	add_u16(b, s->from_port);
	add_u16(b, s->to_port);
	add_u32(b, s->seq);
	add_u32(b, s->ack);
	buf_add_byte(b, 0x50);
	buf_add_byte(b, s->flags);
	add_u32(b, 0);
	add_u32(b, 0);
	b->n -= 2; /* window, checksum and urgent pointer are six bytes */
	buf_add_slice(b, s->payload);
	for (size_t i = 0; i < s->padding; i++)
		buf_add_byte(b, 0);
}
