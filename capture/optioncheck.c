#include "capture/optioncheck.h"

enum meaning {
	LIVE = 1,
	PACKETS = 2,
	PGLOG = 4,
	ACCESS = 8,
	GOR = 16,
	FILES = PACKETS | PGLOG | ACCESS | GOR,
};

static const struct {
	enum meaning is;
	const char *name;
} inputs[] = {
	[INPUT_PCAP] = { PACKETS, "a packet file" },
	[INPUT_PGLOG] = { PGLOG, "a Postgres log" },
	[INPUT_ACCESS] = { ACCESS, "an access log" },
	[INPUT_GOR] = { GOR, "a GoReplay file" },
};

static const char live_name[] = "a live capture";

static bool check(const struct capture_args *a, enum meaning it, const char *name, struct err *e)
{
	const struct {
		const char *option;
		bool is_given;
		int where;
		const char *hint;
	} rows[] = {
		{ "-f", a->filter, LIVE, "tcpdump -r IN -w OUT 'FILTER' filters a file" },
		{ "--for", a->for_ns, LIVE, "a file is read to its end" },
		{ "--budget", a->budget, LIVE, "it bounds what a capture costs a running host" },
		{ "--probe", a->is_probing, LIVE,
			"it measures what a capture costs a running host" },
		{ "--probe-window", a->probe_window_ns, LIVE, "it is of --probe" },
		{ "--probe-pid", a->probe_pid, LIVE, "it is of --probe" },
		{ "--port", a->ports.count, LIVE | PACKETS, "logs do not tell ports" },
		{ "--tls-keylog", a->tls_keylog, LIVE | PACKETS, "only packets are encrypted" },
		{ "--format", a->format, FILES, "it says what a file holds" },
		{ "--log-zone", a->zone, PGLOG | ACCESS, "its stamps tell their zone" },
		{ "--log-prefix", a->log_prefix, PGLOG, "it is Postgres's log_line_prefix" },
		{ "--log-parameter-max", a->log_parameter_max, PGLOG,
			"it is Postgres's log_parameter_max_length" },
		{ "--log-format", a->log_format, ACCESS, "it is for access logs" },
		{ "--fields", a->fields, ACCESS, "it is for access logs in JSON lines" },
		{ "--routes", a->routes, LIVE | PACKETS | ACCESS | GOR, "it is for HTTP" },
		{ "--server-profile", a->server_profile, LIVE | PACKETS | PGLOG,
			"it is for Postgres" },
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		if (!rows[i].is_given || rows[i].where & it)
			continue;
		if (rows[i].where == LIVE)
			err_set(e, ERR_USAGE, "%s is for live captures", rows[i].option);
		else
			err_set(e, ERR_USAGE, "%s means nothing for %s", rows[i].option, name);
		return err_hint(e, "%s; leave it out", rows[i].hint);
	}
	return true;
}

bool optioncheck_live(const struct capture_args *a, struct err *e)
{
	if (!a->is_probing && (a->probe_window_ns || a->probe_pid)) {
		err_set(e, ERR_USAGE, "%s means nothing without --probe",
			a->probe_pid ? "--probe-pid" : "--probe-window");
		return err_hint(e, "add --probe, or leave it out");
	}
	return check(a, LIVE, live_name, e);
}

bool optioncheck_files(const struct capture_args *a, enum input_kind kind, struct err *e)
{
	return check(a, inputs[kind].is, inputs[kind].name, e);
}
