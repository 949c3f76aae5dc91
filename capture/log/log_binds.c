#include "capture/log/log_binds.h"

#include <stdlib.h>

#include "core/format/pglog.h"

enum { PARAMETERS_MAX = 65535, BYTES_MAX = 16 << 20 };

void log_binds_init(struct log_binds *b, uint32_t max_bytes)
{
	*b = (struct log_binds){ .max_bytes = max_bytes };
	buf_init(&b->bytes, BYTES_MAX);
}

void log_binds_free(struct log_binds *b)
{
	buf_free(&b->bytes);
	free(b->values);
}

static bool is_cut(const struct log_binds *b, struct slice value)
{
	size_t max = b->max_bytes;

	if (value.n < 3 || memcmp(value.p + value.n - 3, "...", 3) != 0)
		return false;
	/* Cut at a whole character: up to three bytes less. */
	return max == 0 || (value.n - 3 <= max && value.n - 3 + 3 >= max);
}

bool log_binds_has_placeholder(struct slice text)
{
	const char *p = text.n ? memchr(text.p, '$', text.n) : NULL;
	const char *end = text.p + text.n;

	while (p && p + 1 < end) {
		if (p[1] >= '1' && p[1] <= '9')
			return true;
		p = memchr(p + 1, '$', (size_t)(end - p - 1));
	}
	return false;
}

static bool grow(struct log_binds *b)
{
	size_t room = b->room ? 2 * b->room : 32;
	struct raw_value *binds = realloc(b->values, room * sizeof(*binds));

	if (!binds)
		return false;
	b->values = binds;
	b->room = room;
	return true;
}

bool log_binds_read(struct log_binds *b, struct slice detail, struct raw_request *q)
{
	struct slice list, value;
	size_t n = 0;
	bool is_null;
	enum step step;

	if (!pglog_has_parameters(detail, &list))
		return !log_binds_has_placeholder(q->text);
	buf_reset(&b->bytes);
	if (!buf_room(&b->bytes, list.n))
		return false;
	while ((step = pglog_next_parameter(&list, &b->bytes, &value, &is_null)) == STEP_ITEM) {
		if (n == PARAMETERS_MAX || (n == b->room && !grow(b)))
			return false;
		b->values[n] = (struct raw_value){
			.bytes = value, .is_null = is_null, .is_cut = !is_null && is_cut(b, value)
		};
		if (b->values[n++].is_cut)
			q->flags |= REQUEST_VALUE_LOST;
	}
	q->binds = b->values;
	q->bind_count = n;
	return step == STEP_END;
}
