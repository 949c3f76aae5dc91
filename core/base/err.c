#include "core/base/err.h"

#include <errno.h>

PRINTF_LIKE(3, 0)
static void set_text(char *to, size_t size, const char *fmt, va_list ap)
{
	if (vsnprintf(to, size, fmt, ap) < 0)
		to[0] = '\0';
}

static void add_errno(struct err *e)
{
	char text[128];
	size_t n = strlen(e->what);

	/* The GNU form: returns the text, which need not be in the buffer. */
	snprintf(e->what + n, sizeof(e->what) - n, ": %s",
		strerror_r(e->os_errno, text, sizeof(text)));
}

bool err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	e->kind = kind;
	e->os_errno = 0;
	e->where[0] = '\0';
	e->hint[0] = '\0';
	va_start(ap, fmt);
	set_text(e->what, sizeof(e->what), fmt, ap);
	va_end(ap);
	return false;
}

bool err_os(struct err *e, enum err_kind kind, int os_errno, const char *fmt, ...)
{
	va_list ap;

	/* Signals that are caught ask to stop; nothing is wrong with what was waited for. */
	e->kind = os_errno == EINTR ? ERR_INTERRUPTED : kind;
	e->os_errno = os_errno;
	e->where[0] = '\0';
	e->hint[0] = '\0';
	va_start(ap, fmt);
	set_text(e->what, sizeof(e->what), fmt, ap);
	va_end(ap);
	add_errno(e);
	return false;
}

bool err_in(struct err *e, const char *fmt, ...)
{
	char before[sizeof(e->where)];
	char place[sizeof(e->where)];
	va_list ap;

	memcpy(before, e->where, sizeof(before));
	va_start(ap, fmt);
	set_text(place, sizeof(place), fmt, ap);
	va_end(ap);
	/* Too long a chain loses its inner end: the outer places lead to it. */
	size_t n = strnlen(place, sizeof(place) - 1);
	size_t inner = strnlen(before, sizeof(before) - 1);
	memcpy(e->where, place, n);
	if (inner && n + 2 < sizeof(e->where)) {
		memcpy(e->where + n, ": ", 2);
		n += 2;
		if (inner > sizeof(e->where) - 1 - n)
			inner = sizeof(e->where) - 1 - n;
		memcpy(e->where + n, before, inner);
		n += inner;
	}
	e->where[n] = '\0';
	return false;
}

bool err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return false;
}

/* A name or value that was shown may hold anything: bytes that would move a terminal's
 * cursor or begin another line are shown as ?. */
static void print_text(const char *text, FILE *to)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, to);
}

void err_print(const struct err *e, FILE *to)
{
	fputs("reprod: ", to);
	print_text(e->where, to);
	fputs(e->where[0] ? ": " : "", to);
	print_text(e->what[0] ? e->what : "failed without a reason (a fault in reprod)", to);
	fputc('\n', to);
	if (e->hint[0]) {
		fputs("hint: ", to);
		print_text(e->hint, to);
		fputc('\n', to);
	}
}
