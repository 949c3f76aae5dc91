#include "tests/lib/loaded.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/unit.h"

void loaded_more(struct loaded *l, const char *path)
{
	struct run run = { .is_quiet = true, .log = stderr };

	l->ok = input_read(&l->in, path, &run, &l->e);
}

static void read_in_zone(struct loaded *l, const char *path, const struct zone *zone)
{
	*l = (struct loaded){ 0 };
	series_init(&l->series, 0);
	l->in.series = &l->series;
	l->in.zone = zone;
	loaded_more(l, path);
}

void loaded_path(struct loaded *l, const char *path)
{
	read_in_zone(l, path, NULL);
}

void loaded_write(char path[], struct slice text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
	close(fd);
}

void loaded_in_zone(struct loaded *l, struct slice text, const struct zone *zone)
{
	char path[] = "/tmp/reprod-input-XXXXXX";

	loaded_write(path, text);
	read_in_zone(l, path, zone);
	unlink(path);
}

void loaded_text(struct loaded *l, const char *text)
{
	loaded_in_zone(l, slice_of(text), NULL);
}
