#include "capture/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/outfile.h"
#include "capture/privilege.h"
#include "capture/summary.h"
#include "core/base/file.h"
#include "core/model/httproutes.h"

static bool read_ports(struct job *j, struct err *e)
{
	for (size_t i = 0; i < j->args->ports.count; i++) {
		const char *text = j->args->ports.items[i];
		char *end;
		unsigned long v = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || *end || v == 0 || v > 65535) {
			err_set(e, ERR_USAGE, "'%s' is not a port", text);
			return err_hint(e, "a port is a number from 1 to 65535");
		}
		if (j->match.port_count == MATCH_PORTS_MAX) {
			err_set(e, ERR_USAGE, "at most %d ports", MATCH_PORTS_MAX);
			return err_hint(
				e, "leave --port out: connections are told by what they say");
		}
		j->match.ports[j->match.port_count++] = (uint16_t)v;
	}
	return true;
}

static void name_output(struct job *j)
{
	char text[CLOCK_TEXT_MAX], stamp[20];
	size_t n = 0;

	if (j->args->output) {
		snprintf(j->output, sizeof j->output, "%s", j->args->output);
		return;
	}
	clock_text(clock_wall_ns(&j->run->clock) / NS_PER_S * NS_PER_S, text);
	for (const char *p = text; *p && n < sizeof stamp - 1; p++)
		if (*p != '-' && *p != ':')
			stamp[n++] = *p;
	stamp[n] = '\0';
	snprintf(j->output, sizeof j->output, "capture-%s.rcap", stamp);
}

bool job_init(struct job *j, struct run *r, const struct capture_args *a, struct err *e)
{
	*j = (struct job){ .run = r, .args = a, .output_fd = -1, .summary_fd = -1 };
	privilege_no_core();
	j->facts.sources = json_array();
	name_output(j);
	if (a->ids && strcmp(a->ids, "permute") != 0 && strcmp(a->ids, "keep") != 0)
		return err_set(e, ERR_USAGE, "--ids is 'permute' or 'keep', not '%s'", a->ids);
	return read_ports(j, e);
}

/* Live, the file that is there is emptied when all is open: a draft could not be renamed
 * once the privileges are dropped. */
static int open_forced(struct job *j)
{
	int fd;

	if (j->args->interfaces.count)
		return open(j->output, O_WRONLY | O_CLOEXEC);
	fd = file_open_beside(j->output, j->draft);
	if (fd >= 0 && j->draft[0])
		(void)fchmod(fd, 0600);
	return fd;
}

/* What --force replaces live. */
static bool empty_output(struct job *j, struct err *e)
{
	struct stat st;

	if (j->is_created || j->draft[0] || fstat(j->output_fd, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	if (ftruncate(j->output_fd, 0) != 0)
		return err_os(e, ERR_ENV, errno, "could not overwrite '%s'", j->output);
	j->is_created = true;
	return true;
}

bool job_create_output(struct job *j, struct err *e)
{
	const struct capture_args *a = j->args;
	const char *const inputs[] = { a->key, a->policy, a->sample, a->routes, a->tls_keylog,
		a->server_profile };
	int fd;

	if (!file_is_apart(j->output, inputs, LENGTH(inputs), e))
		return false;
	if (strcmp(j->output, "-") == 0) {
		if (j->run->is_json)
			return err_set(
				e, ERR_USAGE, "-o - and --json cannot both have standard output");
		j->writer = rcap_create(j->output, true, e);
		return j->writer != NULL;
	}
	fd = open(j->output, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0600);
	if (fd < 0 && errno == EEXIST && !j->run->is_forced) {
		err_set(e, ERR_USAGE, "'%s' exists", j->output);
		return err_hint(e, "name another file with -o, or overwrite it with --force");
	}
	/* A device or pipe that was named is not ours to remove when nothing came. */
	j->is_created = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open_forced(j);
	if (fd < 0)
		return outfile_refuse(j->output, errno, e);
	j->output_fd = fd;
	return true;
}

bool job_load_secrets(struct job *j, struct err *e)
{
	const struct capture_args *a = j->args;

	if (!(a->policy ? policy_load(&j->policy, a->policy, e) : policy_defaults(&j->policy, e)))
		return false;
	if (a->ids && strcmp(a->ids, "permute") == 0) {
		j->policy.is_permuting_ids = true;
		policy_seal(&j->policy);
	}
	j->key = a->key ? token_key_load(a->key, e) : token_key_fresh(e);
	if (!j->key)
		return false;
	if (a->sample && !sample_rules_load(&j->rules, a->sample, e))
		return false;
	if (a->routes) {
		j->routes = httproutes_load(a->routes, e);
		if (!j->routes)
			return false;
		j->facts.routes_digest = httproutes_digest(j->routes);
	}
	if (a->tls_keylog) {
		j->tls_keys = tls_keys_load(a->tls_keylog, e);
		if (!j->tls_keys)
			return false;
		if (a->interfaces.count)
			tls_keys_follow(j->tls_keys);
		j->match.tls_keys = j->tls_keys;
	}
	if (a->server_profile) {
		j->facts.identity = head_identity(a->server_profile, e);
		if (!j->facts.identity)
			return false;
	}
	return true;
}

static bool make_sample(
	struct job *j, struct pipeline_options *o, struct store *store, struct err *e)
{
	if (!j->args->sample)
		return true;
	j->sample = sample_new(&j->rules, j->key, j->writer, j->waiting_max);
	if (!j->sample)
		return err_set(e, ERR_ENV, "out of memory");
	*store = sample_store(j->sample);
	o->store = store;
	o->sample = j->sample;
	return true;
}

bool job_start(struct job *j, struct err *e)
{
	struct pipeline_options o = {
		.policy = &j->policy, .key = j->key, .match = j->match, .facts = &j->facts
	};
	struct store store;

	if (!j->writer && !empty_output(j, e))
		return false;
	if (!j->writer) {
		int fd = j->output_fd;

		j->output_fd = -1;
		j->writer = rcap_create_fd(fd, j->output, e);
	}
	if (!j->writer)
		return false;
	/* Only keeps strangers from making chains long; no output depends on it. */
	if (getrandom(&o.hash_seed, sizeof o.hash_seed, GRND_NONBLOCK) < 0)
		o.hash_seed = 1;
	o.writer = j->writer;
	o.routes = j->routes;
	o.flow_held_max = j->reorder_max;
	o.cache_max = j->cache_max;
	rcap_heed_stop(j->writer, j->run->stop);
	if (j->dictionary_max)
		rcap_limit(j->writer, j->dictionary_max);
	if (!make_sample(j, &o, &store, e))
		return false;
	j->facts.policy = &j->policy;
	j->facts.key = j->key;
	if (!j->facts.clock_kind)
		j->facts.clock_kind = "packets";
	j->pipeline = pipeline_new(&o, e);
	return j->pipeline != NULL;
}

void job_add_source(struct job *j, const char *kind, const char *name)
{
	struct json *s = json_object();

	json_set_text(s, "kind", kind);
	json_set_text(s, "name", name);
	json_append(j->facts.sources, s);
}

/* ---- the end */

static bool print_summary(const struct job *j, struct err *e)
{
	struct rcap *r = rcap_open(j->draft[0] ? j->draft : j->output, e);
	CLEANUP(json_cleanup) struct json *doc = r ? capture_summary(r, j->run, e) : NULL;

	if (doc)
		json_print(doc, j->run->out);
	rcap_close(r);
	return doc != NULL;
}

/* The helper answers with its exit code; it has printed its own error. */
static bool ask_helper(struct job *j, struct err *e)
{
	int status = 0;
	char go = 'g';

	if (write(j->summary_fd, &go, 1) != 1 ||
		waitpid(j->summary_pid, &status, 0) != j->summary_pid)
		return err_os(e, ERR_ENV, errno, "could not print the summary");
	j->summary_pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_ENV, "could not print the summary of '%s'", j->output);
	return true;
}

/* What would have been read with a key log, or with a better one. */
static void describe_tls(const struct job *j, struct buf *to)
{
	const struct ledger *l = pipeline_ledger(j->pipeline);

	if (!j->tls_keys && l->encrypted[TLS_NO_KEY])
		buf_add_text(to,
			"hint     --tls-keylog FILE reads TLS: the file that SSLKEYLOGFILE makes at the client\n");
	if (j->tls_keys)
		buf_addf(to, "keys     %zu TLS secrets", tls_keys_count(j->tls_keys));
	if (j->tls_keys && tls_keys_odd_lines(j->tls_keys))
		buf_addf(to, ", %zu lines that are none", tls_keys_odd_lines(j->tls_keys));
	if (j->tls_keys)
		buf_add_byte(to, '\n');
}

static void print_ledger(struct job *j)
{
	const struct ledger *l = pipeline_ledger(j->pipeline);
	CLEANUP(buf_free) struct buf text = { 0 };

	if (j->run->is_quiet)
		return;
	if (j->facts.lines)
		buf_addf(&text, "lines    %lld read\n",
			(long long)json_int(json_get(j->facts.lines, "read"), 0));
	else
		ledger_describe(l, &text);
	describe_tls(j, &text);
	if (token_key_is_fresh(j->key))
		buf_add_text(&text,
			"key      fresh and gone: fits no snapshot scrubbed elsewhere (--key FILE keeps one)\n");
	buf_addf(&text, "file     %s: %" PRIu64 " requests in %" PRIu64 " sessions\n", j->output,
		pipeline_requests(j->pipeline), pipeline_sessions(j->pipeline));
	fputs(buf_text(&text), strcmp(j->output, "-") == 0 ? j->run->log : j->run->out);
}

bool job_place_output(struct job *j, struct err *e)
{
	if (!j->draft[0])
		return true;
	if (rename(j->draft, j->output) != 0)
		return err_os(e, ERR_ENV, errno, "could not overwrite '%s'", j->output);
	j->draft[0] = '\0';
	return true;
}

bool job_finish(struct job *j, bool is_whole, struct err *e)
{
	CLEANUP(json_cleanup) struct json *head = NULL;
	struct rcap_writer *w = j->writer;

	if (!pipeline_end(j->pipeline, e))
		return false;
	/* The counts are taken in different places: a loss that none of them saw shows here. */
	bool is_balanced = ledger_balances(pipeline_ledger(j->pipeline));
	if (!is_balanced)
		run_note(j->run,
			"the counts do not add up, so something was lost unseen (a fault in reprod): the file is marked incomplete");
	j->facts.is_complete = is_whole && is_balanced;
	head = pipeline_head(j->pipeline);
	j->writer = NULL;
	if (!rcap_finish(w, head, e))
		return false;
	if (!j->run->is_json) {
		print_ledger(j);
		return true;
	}
	return j->summary_fd >= 0 ? ask_helper(j, e) : print_summary(j, e);
}

void job_free(struct job *j)
{
	pipeline_free(j->pipeline);
	if (j->writer)
		rcap_abandon(j->writer);
	if (j->output_fd >= 0)
		close(j->output_fd);
	if (j->summary_fd >= 0)
		close(j->summary_fd);
	if (j->summary_pid)
		waitpid(j->summary_pid, NULL, 0);
	sample_free(j->sample);
	sample_rules_free(&j->rules);
	tls_keys_free(j->tls_keys);
	token_key_free(j->key);
	httproutes_free(j->routes);
	policy_free(&j->policy);
	json_free(j->facts.sources);
	json_free(j->facts.audit);
	json_free(j->facts.identity);
	json_free(j->facts.sampling);
	json_free(j->facts.cost);
	json_free(j->facts.shedding);
	json_free(j->facts.probe);
	json_free(j->facts.lines);
	json_free(j->facts.log_requests);
}

#define TLS_ADVICE ", or give the clients' key log with --tls-keylog FILE"

bool job_judge_emptiness(const struct job *j, enum err_kind kind, struct err *e)
{
	const struct ledger *l = pipeline_ledger(j->pipeline);

	if (pipeline_requests(j->pipeline) || l->flows[FLOWS_POSTGRES] || l->flows[FLOWS_HTTP] ||
		l->flows[FLOWS_HTTP2])
		return true;
	if (l->flows[FLOWS_ENCRYPTED]) {
		err_set(e, kind, "all %" PRIu64 " Postgres sessions are encrypted",
			l->flows[FLOWS_ENCRYPTED]);
		return err_hint(e,
			"capture where it is clear (sslmode=disable on a trusted hop, behind the pooler)%s, "
			"or read the server's csvlog",
			j->tls_keys ? "" : TLS_ADVICE);
	}
	if (l->flows[FLOWS_TLS]) {
		err_set(e, kind, "nothing to read, but %" PRIu64 " TLS connections",
			l->flows[FLOWS_TLS]);
		return err_hint(e, "capture where it is clear (behind the proxy that ends TLS)%s",
			j->tls_keys ? "" : TLS_ADVICE);
	}
	if (!l->packets_seen) {
		err_set(e, kind, "no packets");
		return err_hint(e, "is it the right interface, filter and port?");
	}
	err_set(e, kind,
		"no Postgres or HTTP traffic in %" PRIu64 " packets (%" PRIu64 " other and %" PRIu64
		" silent connections)",
		l->packets_seen, l->flows[FLOWS_OTHER],
		l->flows[FLOWS_SILENT] + l->flows[FLOWS_OTHER_PORT]);
	return err_hint(e,
		"is it the right interface, filter and port? Unix sockets are invisible; "
		"connections that were idle show nothing");
}
