#include "core/base/run.h"

#include <stdarg.h>
#include <unistd.h>

PRINTF_LIKE(2, 0)
static void say(const struct run *r, const char *fmt, va_list ap)
{
	if (!r->log)
		return;
	vfprintf(r->log, fmt, ap);
	fputc('\n', r->log);
	fflush(r->log);
}

void run_note(const struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->is_quiet)
		return;
	va_start(ap, fmt);
	say(r, fmt, ap);
	va_end(ap);
}

void run_detail(const struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->is_quiet || r->verbose < 1)
		return;
	va_start(ap, fmt);
	say(r, fmt, ap);
	va_end(ap);
}

static bool is_terminal(const struct run *r)
{
	int fd = r->log ? fileno(r->log) : -1;

	return fd >= 0 && isatty(fd);
}

static void print_progress(const struct run *r, const struct run_progress *p, double done,
	double elapsed_s, bool on_terminal)
{
	char left[CLOCK_TEXT_MAX];
	double rate = done / elapsed_s;

	fprintf(r->log, "%s%s %.0f", on_terminal ? "\r" : "", p->verb, done);
	if (p->total > 0)
		fprintf(r->log, " of %.0f", p->total);
	fprintf(r->log, " %s, %.0f/s", p->unit, rate);
	if (p->total > done && rate > 0)
		fprintf(r->log, ", %s left",
			clock_duration_text((int64_t)((p->total - done) / rate * 1e9), left));
	/* \033[K wipes what a longer line before has left. */
	fputs(on_terminal ? "\033[K" : "\n", r->log);
	fflush(r->log);
}

void run_progress_at(const struct run *r, struct run_progress *p, double done)
{
	int64_t now = clock_mono_ns(&r->clock);

	if (!p->started_ns) {
		p->started_ns = p->last_ns = now;
		return;
	}
	/* Half a second is asked first: the question about the terminal is a system call. */
	if (r->is_quiet || !r->log || now - p->started_ns < 2 * NS_PER_S ||
		now - p->last_ns < NS_PER_S / 2)
		return;
	bool on_terminal = is_terminal(r);
	if (!on_terminal && now - p->last_ns < 10 * NS_PER_S)
		return;
	p->last_ns = now;
	p->has_printed = true;
	print_progress(r, p, done, (double)(now - p->started_ns) / 1e9, on_terminal);
}

void run_progress_end(const struct run *r, struct run_progress *p)
{
	if (p->has_printed && is_terminal(r)) {
		fputs("\r\033[K", r->log);
		fflush(r->log);
	}
	p->has_printed = false;
}
