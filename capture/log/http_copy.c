#include "capture/log/http_copy.h"

static size_t bytes_of(const struct raw_http *h)
{
	size_t n = h->method.n + h->target.n + h->authority.n + h->body.n + h->answer_type.n;

	for (size_t i = 0; i < h->field_count; i++)
		n += h->fields[i].name.n + h->fields[i].value.n;
	return n;
}

size_t http_copy_size(const struct raw_http *h)
{
	size_t n = sizeof *h + h->field_count * sizeof *h->fields + bytes_of(h);

	/* What follows it stays aligned. */
	return (n + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
}

static void keep(struct slice *s, char **to)
{
	if (s->n)
		memcpy(*to, s->p, s->n);
	s->p = *to;
	*to += s->n;
}

struct raw_http *http_copy(const struct raw_http *h, void *to)
{
	struct raw_http *copy = to;
	struct raw_field *fields = (struct raw_field *)(copy + 1);
	char *bytes = (char *)(fields + h->field_count);

	*copy = *h;
	keep(&copy->method, &bytes);
	keep(&copy->target, &bytes);
	keep(&copy->authority, &bytes);
	keep(&copy->body, &bytes);
	keep(&copy->answer_type, &bytes);
	for (size_t i = 0; i < h->field_count; i++) {
		fields[i] = h->fields[i];
		keep(&fields[i].name, &bytes);
		keep(&fields[i].value, &bytes);
	}
	copy->fields = fields;
	return copy;
}
