#include "capture/head.h"

#include "core/model/rcap.h"

static void set_text_or_null(struct json *j, const char *key, const char *text)
{
	json_set_text(j, key, text && text[0] ? text : NULL);
}

static struct json *server_json(const struct wire_server *s, const struct json *identity)
{
	static const char *const fields[] = { "source_id", "server_version", "server_version_num",
		"server_time" };
	struct json *j = json_object();

	set_text_or_null(j, "address", s ? s->address : NULL);
	if (s && s->port)
		json_set_int(j, "port", s->port);
	set_text_or_null(j, "version", s ? s->version : NULL);
	set_text_or_null(j, "time_zone", s ? s->time_zone : NULL);
	for (size_t i = 0; identity && i < LENGTH(fields); i++) {
		struct json *v = json_get(identity, fields[i]);

		if (v)
			json_set(j, fields[i], json_copy(v));
	}
	return j;
}

/* Which it is shows while the capture goes on: a Postgres server goes before HTTP's, for
 * replay must know which database it may not touch. */
static const struct wire_server *first_server(const struct head_facts *f)
{
	return f->servers && f->servers->count ? &f->servers->items[0] : f->server;
}

/* Where there are several, as merge has them: replay must refuse every one of them. */
static void set_servers(struct json *j, const struct head_facts *f)
{
	const struct wire_servers *all = f->servers;
	struct json *list;

	if (!all || all->count < 2)
		return;
	list = json_array();
	for (uint32_t i = 0; i < all->count; i++)
		json_append(list, server_json(&all->items[i], i ? NULL : f->identity));
	json_set(j, "servers", list);
	if (all->sessions_beyond)
		json_set_int(j, "sessions_of_more_servers", (int64_t)all->sessions_beyond);
}

/* What becomes of each kind of place under this policy, for the reader of the file. */
static struct json *places_json(const struct head_facts *f)
{
	struct json *j = json_object();

	json_set_text(j, "client_address", "token");
	json_set_text(j, "server_address", "kept");
	json_set_text(j, "user", "token");
	json_set_text(j, "database", "token");
	json_set_text(j, "application", "token");
	json_set_text(j, "copy_data", "token by field");
	json_set_text(j, "error_text", "dropped");
	json_set_text(j, "result_rows", "dropped");
	json_set_text(j, "secrets", "dropped");
	json_set_text(
		j, "numbers", f->policy->is_permuting_ids ? "token" : "short kept, long token");
	if (f->scrub)
		scrub_places(f->scrub, j);
	return j;
}

static struct json *lines_json(const struct head_facts *f)
{
	struct json *j;

	if (f->lines)
		return json_copy(f->lines);
	j = json_object();
	json_set_int(j, "read", 0);
	json_set(j, "unread", json_object());
	return j;
}

static struct json *whole_ledger(const struct head_facts *f)
{
	struct json *j = ledger_json(f->ledger);

	json_set(j, "lines", lines_json(f));
	if (f->log_requests)
		json_set(j, "requests", json_copy(f->log_requests));
	return j;
}

static struct json *counts_json(const struct head_facts *f)
{
	struct json *j = json_object();

	json_set_int(j, "sessions", (int64_t)f->sessions);
	json_set_int(j, "requests", (int64_t)f->requests);
	json_set_int(j, "prepares", (int64_t)f->prepares);
	json_set_int(j, "unreadable", (int64_t)f->unreadable);
	json_set_int(j, "secret", (int64_t)f->secret);
	if (f->refused_texts)
		json_set_int(j, "refused_texts", (int64_t)f->refused_texts);
	return j;
}

static void set_time_or_null(struct json *j, const char *key, int64_t ns)
{
	if (ns)
		json_set_time(j, key, ns);
	else
		json_set_null(j, key);
}

static void set_copy_or_null(struct json *j, const char *key, const struct json *value)
{
	if (value)
		json_set(j, key, json_copy(value));
	else
		json_set_null(j, key);
}

struct json *head_json(const struct head_facts *f)
{
	struct json *j = json_object(), *clock = json_object();

	json_set_text(j, "format", "rcap");
	json_set_int(j, "version", RCAP_VERSION);
	json_set(j, "sources", f->sources ? json_copy(f->sources) : json_array());
	set_time_or_null(j, "start", f->start_ns);
	set_time_or_null(j, "end", f->end_ns);
	json_set(j, "server", server_json(first_server(f), f->identity));
	set_servers(j, f);
	json_set_int(clock, "fineness_ns", f->fineness_ns);
	json_set_text(clock, "kind", f->clock_kind);
	json_set(j, "clock", clock);
	json_set(j, "policy", policy_json(f->policy));
	json_set_text(j, "policy_digest", f->policy->digest);
	json_set_text(j, "key_id", token_key_id(f->key));
	json_set_bool(j, "is_key_fresh", token_key_is_fresh(f->key));
	json_set_bool(j, "predicates_kept", f->changed_predicates == 0);
	json_set_int(j, "changed_predicates", (int64_t)f->changed_predicates);
	json_set(j, "places", places_json(f));
	set_text_or_null(j, "routes_digest", f->routes_digest);
	json_set(j, "ledger", whole_ledger(f));
	json_set(j, "lost", ledger_lost_json(f->ledger));
	set_copy_or_null(j, "sampling", f->sampling);
	if (f->cost)
		json_set(j, "cost", json_copy(f->cost));
	if (f->shedding)
		json_set(j, "shedding", json_copy(f->shedding));
	if (f->probe)
		json_set(j, "probe", json_copy(f->probe));
	if (f->ended)
		json_set_text(j, "ended", f->ended);
	if (f->audit)
		json_set(j, "audit", json_copy(f->audit));
	json_set_bool(j, "complete", f->is_complete);
	json_set(j, "counts", counts_json(f));
	return j;
}

struct json *head_identity(const char *profile_path, struct err *e)
{
	CLEANUP(json_cleanup) struct json *profile = json_load(profile_path, 64 << 20, e);
	struct json *identity;

	if (!profile)
		return NULL;
	identity = json_path(profile, "sections.identity");
	if (!json_text(json_get(identity, "source_id"), NULL)) {
		err_set(e, ERR_INPUT, "it does not tell the server's identity");
		err_hint(e,
			"make it with 'reprod snapshot describe DSN -o P.json' as a member of pg_monitor");
		err_in(e, "%s", profile_path);
		return NULL;
	}
	return json_copy(identity);
}
