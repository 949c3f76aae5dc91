/*
 * job.h - one execution of `reprod capture`: what the options say, what is open,
 * and the answer at its end.
 *
 * The output is opened first, so that a failure costs nothing; a file that --force
 * replaces stays as it is until packets flow (live) or the new one is whole (files).
 * Key and policy are read as the user whose files they are. For cmd_capture.c, job_live.c and
 * job_files.c.
 */
#ifndef REPROD_JOB_H
#define REPROD_JOB_H

#include "capture/pipeline.h"
#include "capture/sample.h"
#include "core/base/cli.h"

struct capture_args {
	struct cli_list interfaces, ports;
	const char *filter, *output, *format, *key, *policy, *ids, *server_profile, *routes, *zone;
	const char *tls_keylog;
	const char *log_format, *fields;
	const char *sample, *budget;
	const char *log_prefix; /* log_line_prefix of a stderr log */
	int64_t log_parameter_max;
	int64_t for_ns, probe_pid, probe_window_ns;
	bool is_probing;
};

struct job {
	struct run *run;
	const struct capture_args *args;
	char output[4096];
	struct match_options match;
	size_t reorder_max, waiting_max, dictionary_max, cache_max; /* bytes; 0: the defaults */
	struct policy policy;
	struct token_key *key;
	struct httproutes *routes; /* of --routes, or NULL */
	struct tls_keys *tls_keys; /* of --tls-keylog, or NULL */
	struct sample_rules rules; /* of --sample */
	struct sample *sample; /* or NULL */
	struct rcap_writer *writer;
	int output_fd; /* owned by writer once that is there */
	struct head_facts facts;
	struct pipeline *pipeline;
	char draft[4096]; /* --force on files: where it is written until it is whole; or "" */
	bool is_created; /* the output file is ours */
	int summary_fd; /* a helper that prints the summary with the privileges of the start; or -1 */
	int summary_pid;
};

bool job_init(struct job *j, struct run *r, const struct capture_args *a, struct err *e) MUST_USE;
bool job_create_output(struct job *j, struct err *e) MUST_USE;
bool job_load_secrets(struct job *j, struct err *e) MUST_USE;
bool job_start(struct job *j, struct err *e) MUST_USE;
/* Finishes the file and prints the ledger or the summary. is_whole: the input was
 * read to its end. */
bool job_finish(struct job *j, bool is_whole, struct err *e) MUST_USE;
/* Puts a draft in the place of what --force replaces. */
bool job_place_output(struct job *j, struct err *e) MUST_USE;
void job_add_source(struct job *j, const char *kind, const char *name);
void job_free(struct job *j);

enum outcome job_live(struct job *j, struct err *e);
enum outcome job_files(struct job *j, struct cli_operands ops, struct err *e);
/* What to say when no request was seen. True when that is no failure. */
bool job_judge_emptiness(const struct job *j, enum err_kind kind, struct err *e);

#endif
