/*
 * Laws of the HTTP scrubber: the planted word does not come out, in template, route or
 * value, whatever stands around it; the template has as many slots as there are values; a
 * dropped value has no bytes; the same request gives the same answer, cached or not; a
 * template without slots' bytes is text that can be sent.
 *
 * The input is a request as on the wire: request line, headers, a blank line, the body.
 */
#include <stdlib.h>

#include "core/model/httpscrub.h"
#include "core/model/places.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Longer than a name may be, planted at the place of each '@'. */
static const char secret[] = "zeisigvogelzeisigvogel";

static void must(bool is_true)
{
	if (!is_true)
		abort();
}

static bool holds_secret(struct slice s)
{
	return s.n && memmem(s.p, s.n, secret, sizeof(secret) - 1);
}

static void plant(const uint8_t *bytes, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '@')
			buf_add(out, secret, sizeof(secret) - 1);
		else
			buf_add_byte(out, bytes[i]);
	}
}

static struct slice cut_line(struct slice *rest)
{
	const char *stop = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct slice line = { rest->p, stop ? (size_t)(stop - rest->p) : rest->n };

	*rest = (struct slice){ rest->p + line.n + (stop ? 1 : 0),
		rest->n - line.n - (stop ? 1 : 0) };
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

static struct slice cut_word(struct slice *rest, char end)
{
	const char *stop = rest->n ? memchr(rest->p, end, rest->n) : NULL;
	struct slice word = { rest->p, stop ? (size_t)(stop - rest->p) : rest->n };

	*rest = (struct slice){ rest->p + word.n + (stop ? 1 : 0),
		rest->n - word.n - (stop ? 1 : 0) };
	return word;
}

static struct raw_http read_request(struct slice text, struct raw_field fields[64])
{
	struct raw_http raw = { .version = 11, .fields = fields };
	struct slice line = cut_line(&text);

	raw.method = cut_word(&line, ' ');
	raw.target = cut_word(&line, ' ');
	raw.is_chunked = line.n == 1;
	raw.version = line.n == 2 ? 20 : 11;
	while (raw.field_count < 64 && (line = cut_line(&text)).n) {
		fields[raw.field_count].name = cut_word(&line, ':');
		fields[raw.field_count++].value = line;
	}
	raw.body = text;
	raw.body_n = text.n;
	return raw;
}

static uint64_t check(struct httpscrub *s, const struct raw_http *raw)
{
	struct httpscrub_request got;
	size_t slots = 0;
	uint64_t sum = 0;

	httpscrub_request(s, raw, &got);
	must(got.route.n > 0 && !holds_secret(got.route) && !holds_secret(got.template_text));
	for (size_t i = 0; i < got.template_text.n; i++) {
		slots += got.template_text.p[i] == TEMPLATE_SLOT;
		sum = 31 * sum + (unsigned char)got.template_text.p[i];
	}
	must(slots == got.value_count);
	for (size_t i = 0; i < got.value_count; i++) {
		const struct value *v = &got.values[i];

		must(v->place == i && !v->is_bind && !holds_secret(v->bytes));
		must(v->action == VALUE_DROPPED ? v->bytes.n == 0 : v->bytes.n > 0);
		for (size_t k = 0; k < v->bytes.n; k++)
			sum = 31 * sum + (unsigned char)v->bytes.p[k];
	}
	struct buf text = { 0 };
	if (got.template_text.n &&
		record_http_text(got.template_text, got.values, got.value_count, &text))
		must(memmem(text.p, text.n, "\r\n\r\n", 4) != NULL);
	buf_free(&text);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const unsigned char key[32] = "fuzz";
	struct raw_field fields[64];
	struct policy policy;
	struct err e = { 0 };
	struct buf text = { 0 };

	if (size > 1 << 16 || !policy_defaults(&policy, &e))
		return 0;
	struct token_key *k = token_key_of(key, &e);
	struct httpscrub *s = k ? httpscrub_new(&policy, k, NULL) : NULL;
	struct places *places = places_new(16);
	if (s && places) {
		httpscrub_set_places(s, places);
		plant(bytes, size, &text);
		struct raw_http raw = read_request(buf_slice(&text), fields);
		uint64_t sum = check(s, &raw);
		must(check(s, &raw) == sum);
	}
	buf_free(&text);
	httpscrub_free(s);
	places_free(places);
	token_key_free(k);
	policy_free(&policy);
	return 0;
}
