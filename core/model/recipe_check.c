#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/file.h"
#include "core/model/recipe.h"

static void fault(struct recipe_faults *f, const char *pointer, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

static void fault(struct recipe_faults *f, const char *pointer, const char *fmt, ...)
{
	struct recipe_fault *at;
	va_list ap;

	if (f->count == RECIPE_FAULTS_MAX) {
		f->more++;
		return;
	}
	at = &f->items[f->count++];
	snprintf(at->pointer, sizeof(at->pointer), "%s", pointer);
	va_start(ap, fmt);
	vsnprintf(at->what, sizeof(at->what), fmt, ap);
	va_end(ap);
}

/* A file named in the recipe: there, and the one that was meant. */
static void check_file(const struct recipe *r, const char *pointer, const char *written,
	const char *sha256, struct recipe_faults *f)
{
	struct err e = { 0 };
	char path[4096], hex[65];

	if (!recipe_resolve(r, written, path) || !file_exists(path)) {
		fault(f, pointer, "'%s' is not there (paths start at the recipe's folder)",
			written);
	} else if (!file_sha256(path, hex, &e)) {
		fault(f, pointer, "'%s' could not be read: %s", written, e.what);
	} else if (*sha256 && strcmp(hex, sha256) != 0) {
		fault(f, pointer,
			"'%s' is not the file the recipe was made with (SHA-256 %.12s..., not %.12s...)",
			written, hex, sha256);
	}
}

static void check_traffic(const struct recipe *r, struct recipe_faults *f)
{
	if (!*r->capture)
		fault(f, "/traffic/capture", "no capture is named");
	else
		check_file(r, "/traffic/capture", r->capture, r->capture_sha256, f);
	if (!*r->capture_sha256)
		fault(f, "/traffic/sha256", "no SHA-256 of the capture");
	if (!(r->speed > 0))
		fault(f, "/traffic/speed", "the speed must be above 0");
}

static void check_expectation(const struct recipe *r, struct recipe_faults *f)
{
	if (!r->has_fingerprint)
		fault(f, "/expectation/fingerprint",
			"not a route's fingerprint (up to 16 hex digits)");
	if (r->quantile != 0.99 && r->quantile != 0.9 && r->quantile != 0.5)
		fault(f, "/expectation/quantile", "must be 0.99, 0.9 or 0.5");
	if (r->inside_count < 5)
		fault(f, "/expectation/inside", "%zu usable spans, at least five are needed",
			r->inside_count);
	for (size_t i = 1; i < r->inside_count; i++) {
		if (r->inside[i].from_ns < r->inside[i - 1].to_ns) {
			char pointer[64];

			snprintf(pointer, sizeof(pointer), "/expectation/inside/%zu", i);
			fault(f, pointer, "starts before the one in front of it ends");
			break;
		}
	}
}

static void check_windows(const struct recipe *r, struct recipe_faults *f)
{
	size_t all = json_count(json_path(r->document, "cell.windows"));
	int64_t last = -1;
	size_t occurrences = 0;
	char pointer[64];

	if (all > RECIPE_WINDOWS_MAX)
		fault(f, "/cell/windows", "%zu windows, at most %d can be used", all,
			RECIPE_WINDOWS_MAX);
	for (size_t i = 0; i < r->window_count; i++) {
		const struct recipe_window *w = &r->windows[i];
		double length_s = (double)(w->to_ns - w->from_ns) / 1e9;

		snprintf(pointer, sizeof(pointer), "/cell/windows/%zu", i);
		if (i > 0 && w->from_ns < r->windows[i - 1].to_ns)
			fault(f, pointer, "it begins before window %zu ends", i - 1);
		if (w->to_ns <= w->from_ns)
			fault(f, pointer,
				"needs \"from\" and \"to\" as times with a zone, from before to");
		else if (w->inside_from_s < 0 || w->inside_to_s < w->inside_from_s ||
			 w->inside_to_s > length_s + 1e-6)
			fault(f, pointer, "\"inside_s\" does not lie within the window of %.3f s",
				length_s);
		if (w->inside_to_s > w->inside_from_s && w->occurrence != last) {
			last = w->occurrence;
			occurrences++;
		}
	}
	if (occurrences < 5)
		fault(f, "/cell/windows", "a cell needs five occurrences or slices, there are %zu",
			occurrences);
}

static void check_starts(
	const struct recipe_condition *c, const char *base, struct recipe_faults *f)
{
	char pointer[128];

	if (c->offset_count == 0) {
		snprintf(pointer, sizeof(pointer), "%s/on/offsets_s", base);
		fault(f, pointer, "'%s' is never started in a cell", c->id);
	}
	for (size_t i = 0; i < c->offset_count; i++) {
		if (c->offsets_s[i] >= 0)
			continue;
		snprintf(pointer, sizeof(pointer), "%s/on/offsets_s/%zu", base, i);
		fault(f, pointer, "must be seconds of 0 or more");
	}
	if (!(c->timeout_s > 0)) {
		snprintf(pointer, sizeof(pointer), "%s/on/timeout_s", base);
		fault(f, pointer, "must be above 0");
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

static void check_command(const struct recipe *r, const struct recipe_condition *c,
	const char *base, struct recipe_faults *f)
{
	char pointer[128];

	snprintf(pointer, sizeof(pointer), "%s/on/file", base);
	if (!*c->file)
		fault(f, pointer, "'%s' has no command: give its file (recipe draft --job %s=FILE)",
			c->id, *c->name ? c->name : c->id);
	else if (!ends_with(c->file, ".sql") && !ends_with(c->file, ".sh"))
		fault(f, pointer, "'%s' is neither .sql nor .sh", c->file);
	else
		check_file(r, pointer, c->file, c->sha256, f);
	check_starts(c, base, f);
}

static void check_condition(const struct recipe *r, size_t i, struct recipe_faults *f)
{
	const struct recipe_condition *c = &r->conditions[i];
	char base[64], pointer[128];

	snprintf(base, sizeof(base), "/conditions/%zu", i);
	snprintf(pointer, sizeof(pointer), "%s/id", base);
	if (!*c->id)
		fault(f, pointer, "a condition needs an id");
	for (size_t k = 0; k < i; k++) {
		if (*c->id && strcmp(r->conditions[k].id, c->id) == 0)
			fault(f, pointer, "'%s' is there twice", c->id);
	}
	if (c->how == SWITCH_NONE) {
		fault(f, base,
			"no way to switch '%s' on and off: give on.file, or on.sql and off.sql",
			c->id);
	} else if (c->how == SWITCH_FILE) {
		check_command(r, c, base, f);
	} else if (c->how == SWITCH_SETTING && (!*c->name || !*c->on_value || !*c->off_value)) {
		fault(f, base, "a setting needs a name in its id, on.value and off.value");
	}
}

void recipe_check(const struct recipe *r, struct recipe_faults *ret)
{
	size_t all = json_count(json_get(r->document, "conditions"));

	*ret = (struct recipe_faults){ 0 };
	check_traffic(r, ret);
	check_expectation(r, ret);
	check_windows(r, ret);
	if (all == 0)
		fault(ret, "/conditions", "no condition to test");
	if (all > RECIPE_CONDITIONS_MAX)
		fault(ret, "/conditions", "%zu conditions, at most %d can be tested", all,
			RECIPE_CONDITIONS_MAX);
	for (size_t i = 0; i < r->condition_count; i++)
		check_condition(r, i, ret);
}
