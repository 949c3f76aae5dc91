#include "correlate/stats_read.h"

#include "correlate/stats_events.h"
#include "correlate/stats_files.h"
#include "correlate/stats_series.h"
#include "core/base/clock.h"

/* Lags are looked for up to ten minutes, and a value before the first says what it was. */
#define MARGIN_NS (1800 * NS_PER_S)

struct reading {
	struct stats_files files;
	struct stats_series series;
	struct stats_events events;
	struct stats_report *report;
	const struct stats_table *schema; /* as of the round that was read last */
	int64_t from_ns, to_ns; /* what metrics are made of */
	uint64_t rounds; /* in that time */
	int64_t last_ns;
	int64_t last_server_ns;
};

/* Within a recording rounds come as often as its head says. */
static void count_gap(struct reading *r, const struct stats_round *round)
{
	struct stats_report *report = r->report;
	int64_t usual_ns = r->series.usual_ns;
	int server = stats_table_section(r->schema, "server");

	if (server < 0 || !round->has_section[server])
		return;
	int64_t since_ns = r->last_server_ns ? round->t_ns - r->last_server_ns : 0;

	if (usual_ns && since_ns > STATS_STALE * usual_ns) {
		report->gaps++;
		report->gap_ns += since_ns;
	}
	r->last_server_ns = round->t_ns;
}

static bool is_in_time(const struct reading *r, const struct stats_round *round)
{
	return round->t_ns >= r->from_ns && round->t_ns <= r->to_ns;
}

/* Rounds that go back in time (a clock set back) are left out. */
static enum step next_round(struct reading *r, struct stats_round *round, struct err *e)
{
	enum step step;

	while ((step = stats_files_next(&r->files, round, &r->schema, e)) == STEP_ITEM) {
		bool is_back = r->last_ns && round->t_ns <= r->last_ns;

		/* Its table counts all the same. */
		if (is_back && round->is_new_table) {
			stats_tracks_renew(&r->series.tracks);
			stats_tracks_renew(&r->events.tracks);
		}
		if (is_back)
			continue;
		r->last_ns = round->t_ns;
		if (r->files.every_s >= 0.1 && r->files.every_s < 1e6)
			r->series.usual_ns = (int64_t)(r->files.every_s * 1e9);
		return step;
	}
	return step;
}

static bool look(struct reading *r, struct err *e)
{
	struct stats_round round;
	enum step step;

	while ((step = next_round(r, &round, e)) == STEP_ITEM) {
		struct stats_report *report = r->report;

		report->first_ns = report->rounds++ ? report->first_ns : round.t_ns;
		report->last_ns = round.t_ns;
		count_gap(r, &round);
		r->events.usual_ns = r->series.usual_ns;
		stats_events_see(&r->events, &round, r->schema);
		if (is_in_time(r, &round)) {
			r->rounds++;
			stats_series_see(&r->series, &round, r->schema);
		} else if (round.is_new_table) {
			stats_tracks_renew(&r->series.tracks);
		}
	}
	return step == STEP_END;
}

static bool make(struct reading *r, struct err *e)
{
	struct stats_round round;
	enum step step;

	stats_files_rewind(&r->files);
	r->last_ns = 0;
	while ((step = next_round(r, &round, e)) == STEP_ITEM) {
		if (is_in_time(r, &round))
			stats_series_see(&r->series, &round, r->schema);
		else if (round.is_new_table)
			stats_tracks_renew(&r->series.tracks);
	}
	stats_series_end(&r->series);
	return step == STEP_END;
}

static void fill_report(struct reading *r)
{
	struct stats_report *report = r->report;

	report->files = r->files.read;
	report->in_time = r->rounds;
	report->torn = r->files.torn;
	report->damaged = r->files.damaged;
	report->bad = r->files.bad;
	report->first_bad = r->files.first_bad;
	report->events = r->events.count;
	report->merged = r->events.merged;
	report->offset_ns = r->events.offset_most_ns;
	report->metrics = r->series.kept;
	report->constant = r->series.constant;
	report->dropped = r->series.dropped;
	report->rows_refused = r->series.tracks.refused + r->series.refused;
	report->step_ns = r->series.step_ns > 1 ? r->series.step_ns : r->series.usual_ns;
}

static bool read_all(struct reading *r, struct metric_list *metrics, struct err *e)
{
	if (!look(r, e))
		return false;
	/* Files there are, all of another time. */
	if (!r->report->rounds && r->files.is_folder && !r->files.read && !r->files.bad) {
		r->report->first_ns = r->files.segments[0].start_ns;
		r->report->last_ns = r->files.segments[r->files.count - 1].start_ns;
		return true;
	}
	if (!r->report->rounds) {
		if (r->files.bad) {
			*e = r->files.first_bad;
			return false;
		}
		return err_set(e, ERR_INPUT, "no whole round in '%s'", r->files.path);
	}
	if (!stats_series_keep(&r->series, metrics, r->rounds) || !stats_events_end(&r->events))
		return err_set(e, ERR_ENV, "out of memory");
	return make(r, e);
}

bool stats_read(const char *path, int64_t first_ns, int64_t last_ns, uint16_t source,
	struct metric_list *metrics, struct event_list *events, struct stats_report *ret,
	struct err *e)
{
	struct reading r = {
		.report = ret, .from_ns = first_ns - MARGIN_NS, .to_ns = last_ns + MARGIN_NS
	};

	*ret = (struct stats_report){ 0 };
	stats_series_init(&r.series);
	stats_events_init(&r.events, events, source);
	bool ok =
		stats_files_open(&r.files, path, r.from_ns, r.to_ns, e) && read_all(&r, metrics, e);
	fill_report(&r);
	stats_files_close(&r.files);
	stats_events_free(&r.events);
	stats_series_free(&r.series);
	return ok;
}

static void note_gaps(const struct stats_report *r, const char *path, struct notes *notes)
{
	char length[CLOCK_TEXT_MAX];

	if (r->gaps)
		notes_add(notes,
			"'%s' has %llu gaps of %s together: what happened there is not known", path,
			(unsigned long long)r->gaps, clock_duration_text(r->gap_ns, length));
	if (r->damaged)
		notes_lack(notes, "'%s' is damaged in %llu places: what could be read is used",
			path, (unsigned long long)r->damaged);
	notes_bad(notes, r->bad, "recordings", &r->first_bad);
}

void stats_notes(const struct stats_report *r, const char *path, struct notes *notes)
{
	char length[CLOCK_TEXT_MAX];

	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];

	if (!r->in_time)
		notes_lack(notes, "'%s' was recorded from %s to %s, not when the traffic was", path,
			clock_text(r->first_ns, from), clock_text(r->last_ns, to));
	note_gaps(r, path, notes);
	if (r->dropped || r->rows_refused)
		notes_add(notes,
			"of '%s' the %llu metrics that change most are used; %llu others did not fit",
			path, (unsigned long long)r->metrics,
			(unsigned long long)(r->dropped + r->rows_refused));
	if (r->merged)
		notes_add(notes,
			"%llu times several vacuums or analyzes of a table fell between two looks of '%s': "
			"only the last is known",
			(unsigned long long)r->merged, path);
	if (r->offset_ns > NS_PER_S)
		notes_add(notes,
			"the clocks of the server and the recorder of '%s' differed by up to %s: the "
			"server's times were moved",
			path, clock_duration_text(r->offset_ns, length));
}
