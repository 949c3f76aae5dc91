/*
 * json_write.c - the writer of json.h. Our own, so that the text does not change
 * with the library's version: jansson 2.14 prints 0.1 as 0.10000000000000001.
 */
#include "core/base/json.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/utf8.h"

/* A document is larger than most buffers: series with every bucket. */
static const size_t document_max = (size_t)1 << 30;

static void write_text(const char *text, struct buf *to)
{
	static const char short_forms[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";

	buf_add_byte(to, '"');
	while (*text) {
		size_t plain = 0;

		while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' &&
			text[plain] != '\\')
			plain++;
		buf_add(to, text, plain);
		text += plain;
		if (!*text)
			break;
		const char *known = strchr(short_forms, *text);
		if (known)
			buf_addf(to, "\\%c", letters[known - short_forms]);
		else
			buf_addf(to, "\\u%04x", (unsigned char)*text);
		text++;
	}
	buf_add_byte(to, '"');
}

/* The fewest digits that read back as the same number. */
static void write_number(const struct json *j, struct buf *to)
{
	char text[40];
	double v = json_number(j, 0);

	if (json_is_whole(j)) {
		buf_addf(to, "%lld", (long long)json_int(j, 0));
		return;
	}
	/* "-0" would be read back as the integer 0. */
	if (v == 0)
		v = 0;
	for (int digits = 9; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_add_text(to, text);
}

static void new_line(struct buf *to, int indent)
{
	/* Negative: one line. */
	if (indent >= 0)
		buf_addf(to, "\n%*s", 2 * indent, "");
}

static void write_value(const struct json *j, int indent, struct buf *to);

static bool is_scalar(const struct json *j)
{
	return json_type(j) != JSON_LIST && json_type(j) != JSON_MAP;
}

/* A list of scalars stays on one line: twelve numbers are not twelve lines. */
static bool is_flat(const struct json *list)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (!is_scalar(json_at(list, i)))
			return false;
	return true;
}

static void write_list(const struct json *list, int indent, struct buf *to)
{
	int inner = indent < 0 || is_flat(list) ? -1 : indent + 1;
	size_t count = json_count(list);

	buf_add_byte(to, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_text(to, inner < 0 ? ", " : ",");
		new_line(to, inner);
		write_value(json_at(list, i), inner, to);
	}
	if (inner >= 0)
		new_line(to, indent);
	buf_add_byte(to, ']');
}

static void write_map(const struct json *map, int indent, struct buf *to)
{
	int inner = indent < 0 ? -1 : indent + 1;
	struct json_walk walk = json_walk_of(map);
	const char *key;
	struct json *value;
	bool is_first = true;

	buf_add_byte(to, '{');
	while ((key = json_walk_next(&walk, &value))) {
		if (!is_first)
			buf_add_text(to, inner < 0 ? ", " : ",");
		is_first = false;
		new_line(to, inner);
		write_text(key, to);
		buf_add_text(to, ": ");
		write_value(value, inner, to);
	}
	if (!is_first)
		new_line(to, indent);
	buf_add_byte(to, '}');
}

static void write_value(const struct json *j, int indent, struct buf *to)
{
	switch (json_type(j)) {
	case JSON_MAP:
		write_map(j, indent, to);
		break;
	case JSON_LIST:
		write_list(j, indent, to);
		break;
	case JSON_TEXT:
		write_text(json_text(j, ""), to);
		break;
	case JSON_NUMBER:
		write_number(j, to);
		break;
	case JSON_BOOL:
		buf_add_text(to, json_is_true(j, false) ? "true" : "false");
		break;
	default:
		buf_add_text(to, "null");
	}
}

void json_write_string(struct slice text, struct buf *to)
{
	buf_add_byte(to, '"');
	for (size_t i = 0; i < text.n;) {
		size_t n = utf8_length(text.p + i, text.n - i);
		unsigned char c = (unsigned char)text.p[i];

		if (n == 0) {
			buf_add_text(to, "\xef\xbf\xbd"); /* U+FFFD */
			n = 1;
		} else if (c < 0x20 || c == 0x7f) {
			buf_addf(to, "\\u%04x", c);
		} else {
			if (c == '"' || c == '\\')
				buf_add_byte(to, '\\');
			buf_add(to, text.p + i, n);
		}
		i += n;
	}
	buf_add_byte(to, '"');
}

void json_write(const struct json *j, bool is_indented, struct buf *to)
{
	write_value(j, is_indented ? 0 : -1, to);
	buf_add_byte(to, '\n');
}

static void free_buf(struct buf *b)
{
	buf_free(b);
}

bool json_save(const struct json *j, const char *path, bool is_forced, struct err *e)
{
	CLEANUP(free_buf) struct buf text;

	buf_init(&text, document_max);
	json_write(j, true, &text);
	if (text.is_full)
		return err_set(e, ERR_ENV, "out of memory for '%s'", path);
	return file_write(path, buf_slice(&text), is_forced, e);
}

void json_print(const struct json *j, FILE *to)
{
	CLEANUP(free_buf) struct buf text;

	buf_init(&text, document_max);
	json_write(j, true, &text);
	fwrite(buf_text(&text), 1, text.n, to);
}
