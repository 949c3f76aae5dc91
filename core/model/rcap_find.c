/* Finding a route by what a person remembers of its text. */
#include <ctype.h>

#include "core/model/rcap.h"

void rcap_fold_text(struct slice text, struct buf *to)
{
	buf_reset(to);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (!isspace(c))
			buf_add_byte(to, c < 0x80 ? (unsigned char)tolower(c) : c);
		else if (to->n && to->p[to->n - 1] != ' ')
			buf_add_byte(to, ' ');
	}
	if (to->n && to->p[to->n - 1] == ' ')
		to->p[--to->n] = '\0';
}

const struct rcap_route *rcap_find_route(const struct rcap *r, struct slice fragment)
{
	struct buf wanted = { 0 }, text = { 0 };
	const struct rcap_route *best = NULL;

	rcap_fold_text(fragment, &wanted);
	for (uint32_t i = 0; i < rcap_route_count(r); i++) {
		const struct rcap_route *route = rcap_route(r, i);

		if (best && best->requests >= route->requests)
			continue;
		rcap_fold_text(route->text, &text);
		if (memmem(buf_text(&text), text.n, buf_text(&wanted), wanted.n))
			best = route;
	}
	buf_free(&wanted);
	buf_free(&text);
	return best;
}
