#include "capture/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/mergewrite.h"
#include "capture/outfile.h"
#include "core/base/file.h"

static bool out_of_memory(struct err *e)
{
	return err_set(e, ERR_ENV, "out of memory");
}

/* ---- what may be joined */

static bool same_text(const struct merge *m, size_t i, const char *key)
{
	const char *a = json_text(json_get(rcap_head(m->inputs[0].rcap), key), NULL);
	const char *b = json_text(json_get(rcap_head(m->inputs[i].rcap), key), NULL);

	return a && b && strcmp(a, b) == 0;
}

static bool may_join(const struct merge *m, size_t i, struct err *e)
{
	const char *first = m->inputs[0].path, *other = m->inputs[i].path;

	if (!json_get(rcap_head(m->inputs[i].rcap), "key_id")) {
		err_set(e, ERR_REFUSED, "'%s' does not say under which key it was scrubbed", other);
		return err_hint(e, "its head is missing: it was cut off early");
	}
	if (!same_text(m, i, "key_id")) {
		err_set(e, ERR_REFUSED, "'%s' and '%s' were scrubbed under different keys", first,
			other);
		return err_hint(e, "capture all with the same --key FILE");
	}
	if (!same_text(m, i, "policy_digest")) {
		err_set(e, ERR_REFUSED, "'%s' and '%s' were scrubbed by different policies", first,
			other);
		return err_hint(e, "capture all with the same --policy FILE and --ids");
	}
	return true;
}

bool merge_open(struct merge *m, struct err *e)
{
	for (size_t i = 0; i < m->count; i++) {
		m->inputs[i].rcap = rcap_open(m->inputs[i].path, e);
		if (!m->inputs[i].rcap || !may_join(m, i, e))
			return false;
	}
	return true;
}

/* ---- skew */

/* Against those whose skew is known, the one that most requests agree on. */
static bool measure(struct merge *m, size_t i, const bool *is_known, bool *ret_found)
{
	struct merge_input *in = &m->inputs[i];

	*ret_found = false;
	for (size_t k = 0; k < m->count; k++) {
		struct mergeskew found;

		if (k == i || !is_known[k])
			continue;
		if (!mergeskew_between(&m->inputs[k].marks, &in->marks, &found))
			return false;
		if (!found.is_sure || (*ret_found && found.agreeing <= in->found.agreeing))
			continue;
		in->found = found;
		in->against = k;
		*ret_found = true;
	}
	return true;
}

static void settle(struct merge *m, size_t i, bool is_found)
{
	struct merge_input *in = &m->inputs[i];

	if (is_found) {
		in->how = MERGE_BY_CONTENT;
		in->skew_ns = m->inputs[in->against].skew_ns + in->found.skew_ns;
	}
	if (in->is_given) {
		in->how = MERGE_GIVEN;
		in->skew_ns = in->given_ns;
	}
}

/* One that saw nothing of the first may have seen something of the second. */
static bool find_skews(struct merge *m)
{
	bool is_known[MERGE_FILES_MAX] = { true };
	bool has_news = true;

	m->inputs[0].how = MERGE_REFERENCE;
	for (size_t i = 1; i < m->count; i++) {
		m->inputs[i].how = MERGE_ASSUMED;
		is_known[i] = m->inputs[i].is_given;
		settle(m, i, false);
	}
	while (has_news) {
		has_news = false;
		for (size_t i = 1; i < m->count; i++) {
			bool is_found;

			if (is_known[i])
				continue;
			if (!measure(m, i, is_known, &is_found))
				return false;
			settle(m, i, is_found);
			is_known[i] = is_found;
			has_news = has_news || is_found;
		}
	}
	return true;
}

static void tell_skews(const struct merge *m)
{
	for (size_t i = 1; i < m->count; i++) {
		const struct merge_input *in = &m->inputs[i];

		if (in->how == MERGE_ASSUMED)
			run_note(m->run,
				"%s: no requests in common with the others, its clock is taken as "
				"right (--skew %s=MS sets it)",
				in->path, in->path);
		else if (in->how == MERGE_BY_CONTENT && llabs(in->found.drift_ns) > 10 * NS_PER_MS)
			run_note(m->run, "%s: its clock drifts: %.1f ms between the halves",
				in->path, (double)in->found.drift_ns / 1e6);
	}
}

bool merge_align(struct merge *m, struct err *e)
{
	for (size_t i = 0; i < m->count; i++)
		if (!mergemarks_read(&m->inputs[i].marks, m->inputs[i].rcap,
			    MERGE_SESSIONS_MAX / m->count, m->run, e))
			return false;
	if (!find_skews(m) || !merge_find_doubles(m))
		return out_of_memory(e);
	tell_skews(m);
	/* Writing needs none of it, and has dictionaries of its own. */
	for (size_t i = 0; i < m->count; i++) {
		uint64_t unchecked = m->inputs[i].marks.unchecked;

		mergemarks_free(&m->inputs[i].marks);
		m->inputs[i].marks.unchecked = unchecked;
	}
	return true;
}

/* ---- writing */

static bool write_to(struct merge *m, struct rcap_writer *w, struct err *e)
{
	if (!w)
		return false;
	if (!mergewrite_all(m, w, e)) {
		rcap_abandon(w);
		return false;
	}
	struct json *head = merge_head(m);
	bool ok = rcap_finish(w, head, e);
	json_free(head);
	return ok;
}

bool merge_write(struct merge *m, const char *path, struct err *e)
{
	char draft[4096];

	if (strcmp(path, "-") == 0)
		return write_to(m, rcap_create(path, true, e), e);
	int fd = file_open_beside(path, draft);
	if (fd < 0)
		return outfile_refuse(path, errno, e);
	if (draft[0])
		(void)fchmod(fd, 0600);
	bool ok = write_to(m, rcap_create_fd(fd, path, e), e);
	if (ok && draft[0] && rename(draft, path) != 0)
		ok = err_os(e, ERR_ENV, errno, "could not write '%s'", path);
	if (!ok && draft[0])
		unlink(draft);
	return ok;
}

static void free_input(struct merge_input *in)
{
	for (size_t i = 0; in->dropped_counts && i < rcap_route_count(in->rcap); i++)
		hist_free(&in->dropped_counts[i].latency_us);
	free(in->dropped_counts);
	free(in->dropped);
	mergemarks_free(&in->marks);
	rcap_close(in->rcap);
}

void merge_free(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++)
		free_input(&m->inputs[i]);
}
