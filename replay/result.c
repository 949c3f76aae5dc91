#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"
#include "replay/fidelity.h"
#include "replay/replay.h"

static void set_ms(struct json *to, const char *key, const struct hist *h, double q)
{
	bool can = h->total && (q < 0.99 || quantile_is_estimable(h->total, q));

	json_set_number(to, key, can ? (double)hist_quantile(h, q) / 1e3 : NAN);
}

static struct json *times_json(const struct hist *h)
{
	struct json *j = json_object();

	set_ms(j, "p50", h, 0.5);
	set_ms(j, "p90", h, 0.9);
	set_ms(j, "p99", h, 0.99);
	json_set_number(j, "max", h->total ? (double)h->max / 1e3 : NAN);
	return j;
}

static struct json *route_json(const struct replay_route *route)
{
	struct json *j = json_object();
	char hex[17];

	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)route->fingerprint);
	json_set_text(j, "route", route->text);
	json_set_text(j, "fingerprint", hex);
	json_set_int(j, "n", (int64_t)route->sent);
	json_set_int(j, "errors", (int64_t)route->failed);
	json_set_int(j, "captured_errors", (int64_t)route->captured_errors);
	json_set_int(j, "rows", (int64_t)route->rows);
	json_set_int(j, "captured_rows", (int64_t)route->captured_rows);
	json_set_int(j, "unanswered", (int64_t)route->censored);
	json_set(j, "service_ms", times_json(&route->service_us));
	json_set(j, "due_ms", times_json(&route->due_us));
	/* True: a value counted at its age lies at or below the p99, read it as ">=". */
	json_set_bool(j, "p99_is_at_least",
		route->censored > 0 &&
			(double)route->censored >= 0.01 * (double)route->service_us.total);
	return j;
}

static struct json *skipped_json(const struct replay_result *r)
{
	struct json *j = json_object();

	for (size_t i = 0; i < r->skip_count; i++)
		json_set_int(j, r->skipped[i].reason, (int64_t)r->skipped[i].count);
	return j;
}

static struct json *target_json(const struct mark *m)
{
	struct json *j = json_object();

	json_set_text(j, "nonce", m->nonce);
	json_set_text(j, "tier", m->tier);
	json_set_text(j, "frozen_id", m->frozen_id);
	return j;
}

static void add_counts(const struct replay_result *r, struct json *j)
{
	json_set_int(j, "planned", (int64_t)r->planned);
	json_set_int(j, "sent", (int64_t)r->sent);
	json_set(j, "skipped", skipped_json(r));
	json_set_int(j, "failed", (int64_t)r->failed);
	json_set_int(j, "unanswered", (int64_t)r->censored);
	json_set_int(j, "left_out", (int64_t)r->left_out);
	json_set_int(j, "own_requests", (int64_t)r->own_requests);
	json_set_int(j, "prepares", (int64_t)r->prepares);
	json_set_int(j, "keys_substituted", (int64_t)r->keys_substituted);
	json_set_int(j, "connects", (int64_t)r->connects);
	json_set_int(j, "connects_failed", (int64_t)r->connects_failed);
	json_set_int(j, "passes", r->passes);
	json_set_bool(j, "was_capped", r->was_capped);
}

struct json *replay_json(const struct replay_result *r)
{
	struct json *j = json_object(), *routes = json_array();

	json_set_text(j, "format", "reprod-replay");
	json_set_int(j, "version", 1);
	json_set_number(j, "duration_s", (double)r->duration_ns / 1e9);
	json_set_number(j, "planned_s", (double)r->planned_ns / 1e9);
	json_set_bool(j, "interrupted", r->is_interrupted);
	json_set_bool(j, "serial", r->is_serial);
	json_set(j, "target", target_json(&r->mark));
	for (size_t i = 0; i < r->route_count; i++)
		json_append(routes, route_json(&r->routes[i]));
	json_set(j, "routes", routes);
	json_set(j, "lateness_ms", times_json(&r->lateness_us));
	json_set(j, "queue_ms", times_json(&r->queue_us));
	add_counts(r, j);
	json_set(j, "fidelity", fidelity_json(r));
	json_set(j, "divergence", r->divergence ? json_copy(r->divergence) : json_array());
	return j;
}

void replay_result_free(struct replay_result *r)
{
	for (size_t i = 0; i < r->route_count; i++) {
		free(r->routes[i].text);
		hist_free(&r->routes[i].service_us);
		hist_free(&r->routes[i].due_us);
	}
	free(r->routes);
	free(r->samples);
	hist_free(&r->lateness_us);
	hist_free(&r->queue_us);
	json_free(r->divergence);
	*r = (struct replay_result){ 0 };
}
