#include <stddef.h>

#include "capture/capture.h"
#include "capture/cat.h"
#include "capture/cmd_export.h"
#include "capture/cmd_merge.h"
#include "capture/cmd_policy.h"
#include "capture/cmd_coverage.h"
#include "capture/cmd_shape.h"
#include "capture/cmd_watch.h"
#include "capture/job.h"
#include "capture/optioncheck.h"
#include "capture/show.h"
#include "capture/verify.h"

#define AT(field) offsetof(struct capture_args, field)

static const struct cli_option options[] = {
	{ "interface", 'i', CLI_LIST, AT(interfaces), "IFACE",
		"capture live on this interface (several times: several)" },
	{ "filter", 'f', CLI_TEXT, AT(filter), "BPF",
		"live: tcpdump's filter syntax; default 'tcp', or the ports" },
	{ "for", 0, CLI_DURATION, AT(for_ns), "TIME", "live: end after this long (default 15m)" },
	{ "port", 0, CLI_LIST, AT(ports), "N",
		"servers' port; without it any connection that speaks Postgres" },
	{ "output", 'o', CLI_TEXT, AT(output), "FILE",
		"the capture (default capture-TIME.rcap; - is standard output)" },
	{ "format", 0, CLI_TEXT, AT(format), "NAME",
		"what the input is: pcap, csvlog, gor, combined, caddy, ... (default: detected)" },
	{ "key", 0, CLI_TEXT, AT(key), "FILE",
		"pseudonymise under this key (mode 0600); default a fresh one" },
	{ "policy", 0, CLI_TEXT, AT(policy), "FILE", "what to keep and what to replace" },
	{ "tls-keylog", 0, CLI_TEXT, AT(tls_keylog), "FILE",
		"read TLS with the secrets of this key log (SSLKEYLOGFILE)" },
	{ "routes", 0, CLI_TEXT, AT(routes), "FILE",
		"HTTP: paths that are routes, one 'GET /shop/{id}/label' a line" },
	{ "ids", 0, CLI_TEXT, AT(ids), "HOW",
		"'permute' replaces all numbers; default 'keep' up to 8 digits" },
	{ "sample", 0, CLI_TEXT, AT(sample), "RULES.json",
		"keep sessions by what they do; counts stay exact" },
	{ "probe", 0, CLI_FLAG, AT(is_probing), NULL,
		"live: first measure in 5 to 10 pairs of windows what capturing costs; over the budget it ends" },
	{ "probe-window", 0, CLI_DURATION, AT(probe_window_ns), "TIME",
		"with --probe: how long each window is (default 1s)" },
	{ "probe-pid", 0, CLI_INT, AT(probe_pid), "PID",
		"with --probe: the server, whose CPU is measured too" },
	{ "budget", 0, CLI_TEXT, AT(budget), "LIST",
		"live: cpu=2%,mem=64M,disk=1G: sheds, or ends, before it costs more" },
	{ "server-profile", 0, CLI_TEXT, AT(server_profile), "P.json",
		"put the server's identity from 'snapshot describe' in" },
	{ "log-zone", 0, CLI_TEXT, AT(zone), "ZONE",
		"zone of a log's stamps where they do not tell" },
	{ "log-prefix", 0, CLI_TEXT, AT(log_prefix), "STRING",
		"a stderr log's log_line_prefix (default: learned from the lines)" },
	{ "log-parameter-max", 0, CLI_INT, AT(log_parameter_max), "BYTES",
		"the log's log_parameter_max_length: longer values were cut there" },
	{ "log-format", 0, CLI_TEXT, AT(log_format), "STRING",
		"format string of an access log: nginx's log_format, Apache's LogFormat, Envoy's" },
	{ "fields", 0, CLI_TEXT, AT(fields), "MAP",
		"access log in JSON lines: end=.ts,method=.req.method,target=.req.uri,..." },
	{ 0 },
};

static enum outcome capture_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct capture_args *a = args;
	enum outcome outcome = OUTCOME_FAILED;
	struct job j;

	if (!a->interfaces.count && !ops.count) {
		err_set(e, ERR_USAGE, "nothing to capture");
		err_hint(
			e, "reprod capture -i lo -o F.rcap, or reprod capture FILE.pcap -o F.rcap");
		return OUTCOME_FAILED;
	}
	if (a->interfaces.count && ops.count) {
		err_set(e, ERR_USAGE,
			"'%s' and -i %s: files and interfaces cannot go into one capture",
			ops.items[0], a->interfaces.items[0]);
		return OUTCOME_FAILED;
	}
	if (a->interfaces.count && !optioncheck_live(a, e))
		return OUTCOME_FAILED;
	if (a->interfaces.count && !a->for_ns)
		a->for_ns = 15 * 60 * NS_PER_S;
	if (a->is_probing && !a->probe_window_ns)
		a->probe_window_ns = NS_PER_S;
	if (job_init(&j, r, a, e))
		outcome = a->interfaces.count ? job_live(&j, e) : job_files(&j, ops, e);
	job_free(&j);
	return outcome;
}

static const struct cli_command *const subs[] = {
	&capture_show_command,
	&capture_shape_command,
	&capture_cat_command,
	&capture_export_command,
	&capture_merge_command,
	&capture_verify_command,
	&capture_policy_command,
	&capture_coverage_command,
	&capture_watch_command,
	NULL,
};

const struct cli_command capture_command = {
	.name = "capture",
	.summary = "record Postgres and HTTP traffic, live or from files, pseudonymised",
	.usage = "capture -i IFACE [-f BPF] [--for 15m] [--port N]... [-o F.rcap]\n"
		 "capture INPUT... [--format NAME] [--key FILE] [--policy FILE] [-o F.rcap]",
	.notes =
		"INPUT is packets (pcap, pcapng), a Postgres log (csvlog, jsonlog, stderr), an access log or\n"
		"a .gor file, compressed or not; its first bytes tell which. - is standard input\n"
		"(ssh host tcpdump -w - port 5432 | reprod capture - -o F.rcap). Several files of one kind\n"
		"are one capture. Only pseudonymised records reach the disk; the ledger at the end says\n"
		"what was missed and why.",
	.options = options,
	.args_size = sizeof(struct capture_args),
	.main = capture_main,
	.subs = subs,
};
