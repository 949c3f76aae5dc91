#include "tests/lib/eventread.h"

#include "tests/lib/unit.h"

#include <math.h>
#include <unistd.h>

#define NOON_S INT64_C(1796040000)

void eventread_init(struct eventread *r, const char *zone)
{
	memset(r, 0, sizeof(*r));
	notes_init(&r->notes);
	struct events_options o = { &r->list, &r->reaches, &r->notes, zone, NOON_S * NS_PER_S,
		(NOON_S + 3600) * NS_PER_S, NULL };
	r->events = events_new(&o, &r->e);
	assert_non_null(r->events);
}

void eventread_text(struct eventread *r, const char *format, const char *text)
{
	char path[64] = "/tmp/reprod-event-XXXXXX", spec[128];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(spec, sizeof(spec), "%s%s", format, path);
	r->e = (struct err){ 0 };
	r->ok = events_read(r->events, spec, &r->e);
	unlink(path);
}

void eventread_finish(struct eventread *r)
{
	assert_true(events_finish(r->events, &r->e));
}

const char *eventread_told(const struct eventread *r, char text[4096])
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < r->list.count && n < 3800; i++) {
		const struct event *v = &r->list.items[i];

		n += (size_t)snprintf(text + n, 4096 - n, "%s:%.60s %g", v->kind, v->name,
			(double)(v->start_ns / 1000 - NOON_S * 1000000) / 1e6);
		if (v->has_end)
			n += (size_t)snprintf(text + n, 4096 - n, "..%g",
				(double)(v->end_ns / 1000 - NOON_S * 1000000) / 1e6);
		if (!isnan(v->dose))
			n += (size_t)snprintf(text + n, 4096 - n, " dose %g", v->dose);
		n += (size_t)snprintf(text + n, 4096 - n, "%s\n", v->is_weak ? " weak" : "");
	}
	return text;
}

bool eventread_is_noted(const struct eventread *r, const char *part)
{
	for (size_t i = 0; i < r->notes.count; i++)
		if (strstr(r->notes.items[i], part))
			return true;
	return false;
}

void eventread_free(struct eventread *r)
{
	events_free(r->events);
	event_free(&r->list);
	notes_free(&r->notes);
}
