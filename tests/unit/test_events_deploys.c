/* GitHub, GitLab, Grafana, Kubernetes' rollouts, Argo CD. */
#include "tests/lib/eventread.h"
#include "tests/lib/unit.h"

static void check(const char *text, const char *told)
{
	struct eventread r;
	char got[4096];

	eventread_init(&r, NULL);
	eventread_text(&r, "", text);
	if (!r.ok)
		print_message("%s %s\n", r.e.where, r.e.what);
	assert_true(r.ok);
	eventread_finish(&r);
	assert_string_equal(eventread_told(&r, got), told);
	for (size_t i = 0; i < r.list.count; i++)
		assert_null(strstr(r.list.items[i].name, "hunter2"));
	eventread_free(&r);
}

#define GITHUB_1                                                                                    \
	"{\"url\": \"https://api.github.com/repos/o/r/deployments/1\", \"id\": 1, \"sha\": \"a1\"," \
	" \"ref\": \"v1\", \"task\": \"deploy\", \"payload\": {\"token\": \"hunter2\"},"            \
	" \"environment\": \"production\", \"description\": \"hunter2\","                           \
	" \"created_at\": \"2026-11-30T12:00:05Z\", \"updated_at\": \"2026-11-30T12:03:00Z\","      \
	" \"statuses_url\": \"https://api.github.com/repos/o/r/deployments/1/statuses\""
#define STATUS(state, time)                                                                        \
	"{\"state\": \"" state "\", \"created_at\": \"" time "\", \"description\": \"hunter2\","   \
	" \"environment\": \"production\","                                                        \
	" \"deployment_url\": \"https://api.github.com/repos/o/r/deployments/1\"}"
#define STATUSES                                                                                   \
	"[" STATUS("inactive", "2026-11-30T12:50:00Z") "," STATUS(                                 \
		"success", "2026-11-30T12:02:00Z") "," STATUS("in_progress",                       \
		"2026-11-30T12:00:30Z") "," STATUS("queued", "2026-11-30T12:00:06Z") "]"

static void a_github_deployment_ends_with_its_status(void **state)
{
	(void)state;
	check("[" GITHUB_1 "}]", "deploy:production 5\n");
	check("[" GITHUB_1 ", \"statuses\": " STATUSES "}]", "deploy:production 30..120\n");
	check("{\"action\": \"created\", \"deployment\": " GITHUB_1
	      "}, \"deployment_status\": " STATUS("failure", "2026-11-30T12:01:00Z") "}\n",
		"deploy:production 5..60\n");
}

/* A later deployment took over: when this one ended was not told. */
static void inactive_is_no_end(void **state)
{
	(void)state;
	check("[" GITHUB_1
	      ", \"statuses\": [" STATUS("inactive", "2026-11-30T12:50:00Z") "," STATUS(
		      "in_progress", "2026-11-30T12:00:30Z") "]}]",
		"deploy:production 30\n");
}

static void statuses_may_lie_in_another_file(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct eventread r;
		char got[4096];

		eventread_init(&r, NULL);
		eventread_text(&r, "", order ? STATUSES : "[" GITHUB_1 "}]");
		assert_true(r.ok);
		eventread_text(&r, "", order ? "[" GITHUB_1 "}]" : STATUSES);
		assert_true(r.ok);
		eventread_finish(&r);
		assert_string_equal(eventread_told(&r, got), "deploy:production 30..120\n");
		assert_string_equal(r.reaches.items[0].dialect, "github");
		assert_int_equal(r.reaches.items[order].read, 1);
		eventread_free(&r);
	}
}

static void a_full_page_is_probably_not_all(void **state)
{
	struct eventread r;
	char text[100 * 140], *at = text;

	(void)state;
	*at++ = '[';
	for (int i = 0; i < 100; i++)
		at += sprintf(at,
			"%s{\"id\": %d, \"time\": %lld, \"timeEnd\": %lld, \"tags\": [\"deploy\"], \"text\": \"hunter2\"}",
			i ? "," : "", i, 1796040000000LL + i * 10000,
			1796040000000LL + i * 10000 + (i % 2) * 500);
	strcpy(at, "]");
	eventread_init(&r, NULL);
	eventread_text(&r, "", text);
	assert_true(r.ok);
	assert_int_equal(r.list.count, 100);
	assert_string_equal(r.list.items[0].kind, "annotation");
	assert_string_equal(r.list.items[0].name, "deploy");
	assert_false(r.list.items[0].has_end);
	assert_true(r.list.items[1].has_end &&
		    r.list.items[1].end_ns - r.list.items[1].start_ns == 500 * NS_PER_MS);
	assert_non_null(strstr(r.reaches.items[0].note, "exactly 100"));
	assert_true(r.reaches.items[0].from_ns == INT64_C(1796040000000000000));
	eventread_free(&r);
	/* 99 of them are all there are. */
	strcpy(strrchr(text, '{') - 1, "]");
	eventread_init(&r, NULL);
	eventread_text(&r, "", text);
	assert_int_equal(r.list.count, 99);
	assert_null(r.reaches.items[0].note);
	assert_true(r.reaches.items[0].from_ns == INT64_MIN);
	eventread_free(&r);
}

static void alerts_are_no_annotations(void **state)
{
	(void)state;
	check("[{\"id\": 1, \"time\": 1796040001000, \"timeEnd\": 0, \"tags\": [], \"alertName\": \"p99 high\"},"
	      " {\"id\": 2, \"time\": 1796040002000, \"timeEnd\": 1796040002000, \"tags\": []}]",
		"alert:p99 high 1\nannotation:untagged 2\n");
}

static void a_gitlab_deployment_takes_its_jobs_times(void **state)
{
	(void)state;
	check("[{\"id\": 1, \"iid\": 1, \"ref\": \"main\", \"created_at\": \"2026-11-30T13:00:01.000+01:00\","
	      " \"updated_at\": \"2026-11-30T13:01:00.000+01:00\", \"status\": \"success\","
	      " \"environment\": {\"id\": 9, \"name\": \"prod\"}, \"user\": {\"name\": \"hunter2\"},"
	      " \"deployable\": {\"started_at\": \"2026-11-30T12:00:02Z\", \"finished_at\": \"2026-11-30T12:00:50Z\"}},"
	      " {\"id\": 2, \"iid\": 2, \"created_at\": \"2026-11-30T12:10:00Z\", \"updated_at\": \"2026-11-30T12:11:00Z\","
	      " \"status\": \"failed\", \"environment\": {\"name\": \"prod\"}, \"deployable\": null},"
	      " {\"id\": 3, \"iid\": 3, \"created_at\": \"2026-11-30T12:20:00Z\", \"updated_at\": \"2026-11-30T12:21:00Z\","
	      " \"status\": \"running\", \"environment\": {\"name\": \"prod\"}, \"deployable\": null}]",
		"deploy:prod 2..50\ndeploy:prod 600..660\ndeploy:prod 1200\n");
}

#define REPLICASET(name, owner, time)                                                              \
	"{\"kind\": \"ReplicaSet\", \"metadata\": {\"name\": \"" name                              \
	"\", \"namespace\": \"shop\","                                                             \
	" \"creationTimestamp\": \"" time "\","                                                    \
	" \"annotations\": {\"deployment.kubernetes.io/revision\": \"2\"},"                        \
	" \"ownerReferences\": [{\"kind\": \"" owner "\", \"name\": \"web\"}]}}"

static void replicasets_are_rollouts_of_their_deployment(void **state)
{
	struct eventread r;
	char got[4096];

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(&r, "",
		"{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n" REPLICASET(
			"web-1", "Deployment", "2026-11-30T12:00:09Z") ",\n" REPLICASET("web-2",
			"Deployment", "2026-11-30T12:30:00Z") ",\n" REPLICASET("x", "Rollout",
			"2026-11-30T12:30:00Z") "],\n  \"kind\": \"List\"\n}\n");
	assert_true(r.ok);
	eventread_finish(&r);
	assert_string_equal(eventread_told(&r, got), "deploy:shop/web 9\ndeploy:shop/web 1800\n");
	/* Older ones are gone: before the oldest nothing is known. */
	assert_int_equal(r.reaches.count, 2);
	assert_int_equal(r.reaches.items[1].from_ns, r.list.items[0].start_ns);
	assert_int_equal(r.list.items[0].source, 1);
	eventread_free(&r);
}

static void a_raw_list_names_the_kind_once(void **state)
{
	(void)state;
	check("{\"kind\": \"ReplicaSetList\", \"metadata\": {\"resourceVersion\": \"1\"}, \"items\": ["
	      "{\"metadata\": {\"name\": \"w\", \"namespace\": \"shop\", \"creationTimestamp\": \"2026-11-30T12:00:09Z\","
	      " \"ownerReferences\": [{\"kind\": \"Deployment\", \"name\": \"web\"}]}}]}",
		"deploy:shop/web 9\n");
}

static void restarts_and_warnings_are_of_the_workload(void **state)
{
	(void)state;
	check("{\"items\": [{\"kind\": \"Pod\", \"metadata\": {\"name\": \"web-7d4b9c6f5d-x2x7q\", \"namespace\": \"shop\"},"
	      " \"status\": {\"containerStatuses\": [{\"name\": \"app\", \"restartCount\": 2,"
	      " \"lastState\": {\"terminated\": {\"finishedAt\": \"2026-11-30T12:00:10Z\", \"message\": \"hunter2\"}},"
	      " \"state\": {\"running\": {\"startedAt\": \"2026-11-30T12:00:15Z\"}}},"
	      " {\"name\": \"side\", \"restartCount\": 0, \"state\": {}, \"lastState\": {}}]}},"
	      " {\"kind\": \"Event\", \"metadata\": {\"creationTimestamp\": \"2026-11-30T12:00:20Z\"}, \"type\": \"Warning\","
	      " \"reason\": \"BackOff\", \"message\": \"hunter2\", \"count\": 9,"
	      " \"firstTimestamp\": \"2026-11-30T12:00:20Z\", \"lastTimestamp\": \"2026-11-30T12:05:00Z\","
	      " \"involvedObject\": {\"kind\": \"Pod\", \"namespace\": \"shop\", \"name\": \"db-0\"}},"
	      " {\"kind\": \"Event\", \"metadata\": {}, \"type\": \"Normal\", \"reason\": \"Pulled\", \"eventTime\": \"2026-11-30T12:00:20.5Z\"}]}",
		"restart:shop/web/app 10..15\nkubernetes:BackOff:shop/db 20\nkubernetes:BackOff:shop/db 300\n");
}

static void argo_tells_its_history(void **state)
{
	(void)state;
	check("{\"kind\": \"Application\", \"metadata\": {\"name\": \"shop\", \"namespace\": \"argocd\"}, \"status\": {\"history\": ["
	      "{\"id\": 1, \"deployStartedAt\": \"2026-11-30T12:00:01Z\", \"deployedAt\": \"2026-11-30T12:00:09Z\", \"source\": {\"repoURL\": \"https://hunter2@x\"}},"
	      "{\"id\": 2, \"deployedAt\": \"2026-11-30T12:10:00Z\"}]}}",
		"deploy:shop 1..9\ndeploy:shop 600\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_github_deployment_ends_with_its_status),
		cmocka_unit_test(inactive_is_no_end),
		cmocka_unit_test(statuses_may_lie_in_another_file),
		cmocka_unit_test(a_full_page_is_probably_not_all),
		cmocka_unit_test(alerts_are_no_annotations),
		cmocka_unit_test(a_gitlab_deployment_takes_its_jobs_times),
		cmocka_unit_test(replicasets_are_rollouts_of_their_deployment),
		cmocka_unit_test(a_raw_list_names_the_kind_once),
		cmocka_unit_test(restarts_and_warnings_are_of_the_workload),
		cmocka_unit_test(argo_tells_its_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
