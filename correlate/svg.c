#include "correlate/svg.h"

#include <math.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "correlate/words.h"

enum {
	WIDTH = 1000,
	LEFT = 190,
	PLOT = 790,
	ROUTES_MAX = 3,
	ROWS_MAX = 12,
	METRICS_MAX_SHOWN = 4,
	ROUTE_HEIGHT = 130,
	METRIC_HEIGHT = 44,
	ROW_HEIGHT = 18,
	MARGIN = 26,
	TICKS_TOLD = 5000,
	LABEL_CHARS = 28,
	COLUMNS = PLOT,
};

struct canvas {
	struct buf *to;
	int64_t first_ns, span_ns;
	double y; /* top of what comes next */
};

static const char style[] =
	"<style>text{font:12px sans-serif;fill:#333}.t{font-size:14px;font-weight:bold}.s{fill:#777}"
	".l{fill:none;stroke:#2563a8;stroke-width:1.2}.b{fill:#2563a8;opacity:.22}"
	".k{fill:#d9480f;opacity:.22}.u{fill:#999;opacity:.35}.d{fill:#2563a8;opacity:.6}"
	".g{stroke:#999;stroke-width:.5}.h{stroke:#d9480f;stroke-width:2}.m{stroke:#777;stroke-width:1}"
	".c{fill:none;stroke:#2b8a3e;stroke-width:1.2}.w{fill:#fff}"
	"@media(prefers-color-scheme:dark){text{fill:#ddd}.s{fill:#aaa}.w{fill:#1b1b1b}"
	".l{stroke:#74b0f4}.b,.d{fill:#74b0f4}.h{stroke:#ff8a50}.k{fill:#ff8a50}.m{stroke:#aaa}"
	".c{stroke:#6fcf83}}</style>\n";

static void add_byte(struct buf *to, unsigned char c)
{
	if (c == '&')
		buf_add_text(to, "&amp;");
	else if (c == '<')
		buf_add_text(to, "&lt;");
	else if (c == '>')
		buf_add_text(to, "&gt;");
	else
		buf_add_byte(to, c < ' ' || c == 0x7f ? ' ' : c);
}

/* XML 1.0, 2.2 and 2.4: no control characters, three escapes; at most max characters. */
static void add_text(struct buf *to, struct slice text, size_t max)
{
	struct buf quoted = { 0 };
	size_t shown = 0;

	/* Repairs what is no UTF-8. */
	json_write_string(text, &quoted);
	for (size_t i = 1; i + 1 < quoted.n; i++) {
		unsigned char c = (unsigned char)quoted.p[i];

		if ((c & 0xc0) != 0x80 && shown++ >= max) {
			buf_add_text(to, "…");
			break;
		}
		if (c == '\\') {
			/* An escape of JSON: a quote, a backslash, or a control character. */
			char next = quoted.p[++i];

			buf_addf(to, "%s",
				next == '"'    ? "&quot;"
				: next == '\\' ? "\\"
				: next == '/'  ? "/"
					       : " ");
			i += next == 'u' ? 4 : 0;
		} else {
			add_byte(to, c);
		}
	}
	buf_free(&quoted);
}

static double x_of(const struct canvas *c, int64_t wall_ns)
{
	double share = (double)(wall_ns - c->first_ns) / (double)c->span_ns;

	return LEFT + PLOT * fmin(1, fmax(0, share));
}

static void label(struct canvas *c, double y, const char *text)
{
	buf_addf(c->to, "<text x=\"8\" y=\"%.1f\">", y);
	add_text(c->to, slice_of(text), LABEL_CHARS);
	buf_addf(c->to, "</text>\n");
}

static void small(struct canvas *c, double y, const char *text)
{
	buf_addf(c->to, "<text class=\"s\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		LEFT - 6, y, text);
}

static void shade(struct canvas *c, const char *kind, int64_t from_ns, int64_t to_ns, double height)
{
	double from = x_of(c, from_ns), width = fmax(1, x_of(c, to_ns) - from);

	buf_addf(c->to,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", kind,
		from, c->y, width, height);
}

/* ---- a route */

struct column {
	double x, ms, low_ms, high_ms, max_ms; /* 0: none */
};

static size_t fill_columns(
	struct column columns[COLUMNS], const struct canvas *c, const struct bucket_list *buckets)
{
	size_t each = (buckets->count + COLUMNS - 1) / COLUMNS, n = 0;

	for (size_t i = 0; i < buckets->count; i += each) {
		struct column k = { x_of(c, buckets->items[i].start_ns +
						    buckets->width_ns * (int64_t)each / 2),
			0, INFINITY, 0, 0 };

		for (size_t j = i; j < i + each && j < buckets->count; j++) {
			const struct bucket *b = &buckets->items[j];

			if (!b->n)
				continue;
			k.max_ms = fmax(k.max_ms, b->max_ms);
			k.ms = fmax(k.ms, isnan(b->p99_ms) ? 0 : b->p99_ms);
			k.low_ms = isnan(b->p99_low_ms) ? k.low_ms : fmin(k.low_ms, b->p99_low_ms);
			k.high_ms = fmax(k.high_ms, isnan(b->p99_high_ms) ? 0 : b->p99_high_ms);
		}
		if (isinf(k.high_ms))
			k.high_ms = k.max_ms;
		columns[n++] = k;
	}
	return n;
}

struct scale {
	double low, high, top, height;
};

static double y_of(const struct scale *s, double ms)
{
	double share = s->high > s->low ? log(ms / s->low) / log(s->high / s->low) : 0;

	return s->top + s->height * (1 - fmin(1, fmax(0, share)));
}

static struct scale scale_for(const struct column *columns, size_t count, double top)
{
	struct scale s = { INFINITY, 0, top, ROUTE_HEIGHT };

	for (size_t i = 0; i < count; i++) {
		double low = columns[i].ms > 0 ? columns[i].ms : columns[i].max_ms;

		if (low > 0)
			s.low = fmin(s.low, low);
		s.high = fmax(s.high, fmax(low, columns[i].high_ms));
	}
	return s;
}

/* Where a run of columns that have an interval ends. */
static size_t run_end(const struct column *columns, size_t count, size_t at)
{
	while (at < count && columns[at].high_ms > 0 && !isinf(columns[at].low_ms))
		at++;
	return at;
}

static void draw_band(struct canvas *c, const struct column *k, size_t count, const struct scale *s)
{
	for (size_t i = 0, end; i < count; i = end + 1) {
		end = run_end(k, count, i);
		if (end < i + 2)
			continue;
		buf_addf(c->to, "<path class=\"b\" d=\"M");
		for (size_t j = i; j < end; j++)
			buf_addf(c->to, "%.1f %.1f ", k[j].x, y_of(s, k[j].high_ms));
		for (size_t j = end; j > i; j--)
			buf_addf(c->to, "%.1f %.1f ", k[j - 1].x, y_of(s, k[j - 1].low_ms));
		buf_addf(c->to, "Z\"/>\n");
	}
}

static void draw_line(struct canvas *c, const struct column *k, size_t count, const struct scale *s)
{
	bool is_open = false;

	buf_addf(c->to, "<path class=\"l\" d=\"");
	for (size_t i = 0; i < count; i++) {
		if (k[i].ms > 0)
			buf_addf(c->to, "%c%.1f %.1f", is_open ? 'L' : 'M', k[i].x,
				y_of(s, k[i].ms));
		is_open = k[i].ms > 0;
	}
	buf_addf(c->to, "\"/>\n");
	for (size_t i = 0; i < count; i++)
		if (k[i].ms <= 0 && k[i].max_ms > 0)
			buf_addf(c->to, "<circle class=\"d\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.2\"/>\n",
				k[i].x, y_of(s, k[i].max_ms));
}

static void draw_shades(struct canvas *c, const struct tested_route *t)
{
	const struct series *s = t->view.series;

	for (size_t i = 0; i < s->gap_count; i++)
		shade(c, "u", s->gaps[i].from_ns, s->gaps[i].to_ns, ROUTE_HEIGHT);
	for (size_t i = 0; i < t->spikes.count && i < TICKS_TOLD; i++)
		shade(c, "k", t->spikes.items[i].start_ns, t->spikes.items[i].end_ns, ROUTE_HEIGHT);
}

static void draw_route(struct canvas *c, const struct tested_route *t)
{
	struct column columns[COLUMNS];
	size_t count = fill_columns(columns, c, &t->view.buckets);
	char text[WORDS_NUMBER_MAX];

	buf_addf(c->to, "<text x=\"8\" y=\"%.1f\">p99 of ", c->y + 10);
	add_text(c->to, t->view.route->text, 120);
	buf_addf(c->to, "</text>\n");
	c->y += 18;
	struct scale s = scale_for(columns, count, c->y);
	draw_shades(c, t);
	buf_addf(c->to, "<path class=\"g\" fill=\"none\" d=\"M%d %.1fV%.1fH%d\"/>\n", LEFT, c->y,
		c->y + ROUTE_HEIGHT, LEFT + PLOT);
	if (s.high > 0) {
		char what[WORDS_NUMBER_MAX + 8];

		snprintf(what, sizeof(what), "%s ms", words_number(s.high, text));
		small(c, c->y + 10, what);
		snprintf(what, sizeof(what), "%s ms", words_number(s.low, text));
		small(c, c->y + ROUTE_HEIGHT, what);
		draw_band(c, columns, count, &s);
		draw_line(c, columns, count, &s);
	}
	c->y += ROUTE_HEIGHT + 14;
}

/* ---- conditions and metrics */

static void draw_runs(struct canvas *c, const struct finding *f)
{
	double y = c->y + ROW_HEIGHT - 6;

	label(c, y, f->condition->id);
	for (size_t i = 0; i < f->condition->count && i < TICKS_TOLD; i++) {
		const struct occurrence *o = &f->condition->items[i];
		bool is_hit = f->whole.hits && f->whole.judged[i] && f->whole.hits[i];

		if (o->end_ns < c->first_ns || o->start_ns > c->first_ns + c->span_ns)
			continue;
		if (o->has_end)
			buf_addf(c->to, "<path class=\"m\" d=\"M%.1f %.1fH%.1f\"/>",
				x_of(c, o->start_ns), y - 5, x_of(c, o->end_ns));
		buf_addf(c->to, "<path class=\"%s\" d=\"M%.1f %.1fv-11\"/>\n", is_hit ? "h" : "m",
			x_of(c, o->start_ns), y);
	}
	c->y += ROW_HEIGHT;
}

static void draw_points(struct canvas *c, const struct metric *m, double low, double high)
{
	double last_x = -1;
	bool is_open = false;

	buf_addf(c->to, "<path class=\"c\" d=\"");
	for (size_t i = 0; i < m->count; i++) {
		double x = x_of(c, m->points[i].t_ns);
		double share = high > low ? (m->points[i].value - low) / (high - low) : 0;
		bool is_far =
			i && m->points[i].t_ns - m->points[i - 1].t_ns > METRIC_STALE * m->gap_ns;

		if (m->points[i].t_ns < c->first_ns || (x - last_x < 0.8 && !is_far))
			continue;
		buf_addf(c->to, "%c%.1f %.1f", is_open && !is_far ? 'L' : 'M', x,
			c->y + (METRIC_HEIGHT - 8) * (1 - share));
		is_open = true;
		last_x = x;
	}
	buf_addf(c->to, "\"/>\n");
}

static void draw_metric(struct canvas *c, const char *id, const struct metric *m)
{
	double low = INFINITY, high = -INFINITY;
	char text[WORDS_NUMBER_MAX];

	for (size_t i = 0; i < m->count; i++) {
		low = fmin(low, m->points[i].value);
		high = fmax(high, m->points[i].value);
	}
	if (!(high >= low))
		return;
	label(c, c->y + 10, id);
	small(c, c->y + 24, words_number(high, text));
	small(c, c->y + METRIC_HEIGHT - 8, words_number(low, text));
	draw_points(c, m, low, high);
	c->y += METRIC_HEIGHT;
}

static void draw_causes(struct canvas *c, const struct analysis *a)
{
	size_t rows = 0, metrics = 0;
	struct metric traffic;

	for (size_t i = 0; i < a->finding_count && rows < ROWS_MAX; i++)
		if (!a->findings[i].metric && ++rows)
			draw_runs(c, &a->findings[i]);
	c->y += 8;
	for (size_t i = 0; i < a->finding_count && metrics < METRICS_MAX_SHOWN; i++) {
		const struct finding *f = &a->findings[i];

		if (!f->metric || !++metrics)
			continue;
		if (f->metric != &a->traffic) {
			draw_metric(c, f->condition->id, f->metric);
		} else if (a->route_count &&
			   metric_of_traffic(&traffic, &a->routes[f->route].view)) {
			draw_metric(c, f->condition->id, &traffic);
			metric_free(&traffic);
		}
	}
}

static void draw_axis(struct canvas *c)
{
	for (int i = 0; i <= 6; i++) {
		char text[WORDS_NUMBER_MAX];
		int64_t at = c->first_ns + c->span_ns / 6 * i;
		double x = x_of(c, at);

		buf_addf(c->to, "<path class=\"g\" d=\"M%.1f 50V%.1f\"/>", x, c->y);
		buf_addf(c->to,
			"<text class=\"s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x,
			c->y + 14, i < 6 ? "middle" : "end", words_clock(at, c->span_ns, text));
	}
	c->y += MARGIN;
}

void svg_draw(const struct report *r, struct buf *to)
{
	const struct analysis *a = r->analysis;
	struct buf body = { 0 };
	struct canvas c = { &body, a->series->first_ns, a->series->last_ns - a->series->first_ns,
		44 };
	char first[CLOCK_TEXT_MAX];

	c.span_ns = c.span_ns > 0 ? c.span_ns : 1;
	for (size_t i = 0; i < a->route_count && i < ROUTES_MAX; i++)
		if (i == 0 || i < a->spiking_count)
			draw_route(&c, &a->routes[i]);
	draw_causes(&c, a);
	draw_axis(&c);
	buf_addf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\">\n%s<rect class=\"w\" width=\"100%%\" height=\"100%%\"/>\n<text class=\"t\" x=\"8\" y=\"18\">",
		WIDTH, c.y, WIDTH, c.y, style);
	add_text(to, slice_of(r->answer), 130);
	buf_addf(to,
		"</text>\n<text class=\"s\" x=\"8\" y=\"34\">from %s, UTC; shaded: slow; grey: not observed; dots: the largest of too few; ticks: runs, in colour with slow time</text>\n",
		clock_text(a->series->first_ns, first));
	buf_add_slice(to, buf_slice(&body));
	buf_addf(to, "</svg>\n");
	buf_free(&body);
}

bool svg_save(const struct report *r, const char *path, bool is_forced, struct err *e)
{
	struct buf text = { 0 };

	svg_draw(r, &text);
	bool ok = file_write(path, buf_slice(&text), is_forced, e);
	buf_free(&text);
	return ok;
}
