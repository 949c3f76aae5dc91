#include "replay/cells.h"

#include <errno.h>
#include <stdlib.h>

bool cells_put(struct cells *c, uint64_t session, uint64_t seq, uint32_t row, uint16_t column,
	struct slice text)
{
	if (text.n == 0 || text.n > CELL_TEXT_MAX - 1)
		return true;
	if (!c->items)
		c->items = calloc(CELLS_MAX, sizeof(*c->items));
	if (!c->items)
		return false;
	struct cell *cell = &c->items[c->next];
	*cell = (struct cell){ session, seq, row, column, (uint8_t)text.n, { 0 } };
	memcpy(cell->text, text.p, text.n);
	c->next = (c->next + 1) % CELLS_MAX;
	if (c->count < CELLS_MAX)
		c->count++;
	return true;
}

/* Newest first: in a looping run the same place was filled before. */
const struct cell *cells_get(const struct cells *c, uint64_t session, const struct edge *edge)
{
	for (size_t back = 1; back <= c->count; back++) {
		const struct cell *cell = &c->items[(c->next + CELLS_MAX - back) % CELLS_MAX];

		if (cell->session == session && cell->seq == edge->from_seq &&
			cell->row == edge->row && cell->column == edge->column)
			return cell;
	}
	return NULL;
}

void cells_free(struct cells *c)
{
	free(c->items);
	*c = (struct cells){ 0 };
}

static bool spell_integer(const struct cell *cell, size_t width, char *to)
{
	char *end;

	errno = 0;
	long long v = strtoll(cell->text, &end, 10);
	if (errno || *end || end == cell->text)
		return false;
	if (width < 8 && (v < -(1LL << (8 * width - 1)) || v >= 1LL << (8 * width - 1)))
		return false;
	for (size_t i = 0; i < width; i++)
		to[i] = (char)((uint64_t)v >> (8 * (width - 1 - i)));
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool spell_uuid(const struct cell *cell, char *to)
{
	size_t n = 0;

	for (const char *p = cell->text; *p; p++) {
		if (*p == '-')
			continue;
		int digit = hex_digit(*p);
		if (digit < 0 || n == 32)
			return false;
		to[n / 2] = (char)(n % 2 ? to[n / 2] | digit : digit << 4);
		n++;
	}
	return n == 32;
}

static bool is_number(const struct cell *cell)
{
	size_t i = cell->text[0] == '-';

	for (; i < cell->length; i++)
		if (cell->text[i] < '0' || cell->text[i] > '9')
			return false;
	return true;
}

static bool has_quote(const struct cell *cell)
{
	return memchr(cell->text, '\'', cell->length) || memchr(cell->text, '\\', cell->length);
}

bool cell_spell(const struct cell *cell, const struct value *like, char *to, size_t *ret_length)
{
	size_t n = 0;

	if (like->is_bind && like->format == 1) {
		*ret_length = like->bytes.n;
		if (like->bytes.n == 16)
			return spell_uuid(cell, to);
		return (like->bytes.n == 2 || like->bytes.n == 4 || like->bytes.n == 8) &&
		       spell_integer(cell, like->bytes.n, to);
	}
	bool is_quoted = !like->is_bind && (like->bytes.n && like->bytes.p[0] == '\'');
	if (!like->is_bind && (is_quoted ? has_quote(cell) : !is_number(cell)))
		return false;
	if (is_quoted)
		to[n++] = '\'';
	memcpy(to + n, cell->text, cell->length);
	n += cell->length;
	if (is_quoted)
		to[n++] = '\'';
	*ret_length = n;
	return true;
}
