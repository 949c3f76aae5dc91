#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/base/file.h"
#include "snapshot/neutralise.h"
#include "snapshot/settings.h"

static void what_names_files_hosts_commands_or_libraries_is_never_kept(void **state)
{
	static const char *const names[] = { "archive_command", "restore_command",
		"primary_conninfo", "data_directory", "hba_file", "listen_addresses", "port",
		"ssl_passphrase_command", "session_preload_libraries", "shared_preload_libraries",
		"dynamic_library_path", "log_directory", "autovacuum", "synchronous_standby_names",
		"cron.host", "include", "krb_server_keyfile", "temp_tablespaces", "jit_provider",
		"unheard_of" };

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++)
		if (settings_is_kept(names[i]))
			fail_msg("%s", names[i]);
}

static void what_changes_plans_memory_or_waits_is_kept(void **state)
{
	static const char *const names[] = { "random_page_cost", "Work_Mem", "enable_seqscan",
		"shared_buffers", "jit", "deadlock_timeout", "autovacuum_vacuum_scale_factor",
		"timezone", "synchronous_commit", "max_parallel_workers_per_gather",
		"pg_stat_statements.track", "cpu_tuple_cost", "multixact_member_buffers" };

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++)
		if (!settings_is_kept(names[i]))
			fail_msg("%s", names[i]);
}

static void the_file_syntax_is_read_as_the_server_reads_it(void **state)
{
	static const struct {
		const char *name, *value;
	} wanted[] = {
		{ "a", "1" },
		{ "b", "two words" },
		{ "c", "it's" },
		{ "d", "it's" },
		{ "e", "4MB" },
		{ "archive_mode", "on" },
		{ "f", "" },
	};
	char path[] = "/tmp/rt-settings-XXXXXX";
	struct json *got = json_object();
	struct err e = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_true(file_write(path,
		SLICE("# comment\n"
		      "a = 1 # one\n"
		      "b='two words'\n"
		      "c 'it''s'\n"
		      "d = 'it\\'s'\n"
		      "  e\t=\t4MB\r\n"
		      "archive_mode = off\n"
		      "Archive_Mode = on\n"
		      "f = ''\n"
		      "= broken\n"
		      "g = 'never closed\n"),
		true, &e));
	assert_true(settings_read_file(path, got, &e));
	unlink(path);
	assert_int_equal(json_count(got), LENGTH(wanted));
	for (size_t i = 0; i < LENGTH(wanted); i++)
		assert_string_equal(json_text(json_get(got, wanted[i].name), "?"), wanted[i].value);
	json_free(got);
}

static void a_value_cannot_start_another_setting(void **state)
{
	struct json *settings = json_object();
	struct buf text = { 0 };

	(void)state;
	json_set_text(settings, "search_path", "x'\narchive_mode = on\n");
	settings_write(settings, &text);
	assert_string_equal(buf_text(&text), "search_path = 'x''archive_mode = on'\n");
	buf_free(&text);
	json_free(settings);
}

static void only_harmless_libraries_are_loaded(void **state)
{
	struct json *dropped = json_array();
	char kept[128];

	(void)state;
	/* No installation there, so that nothing is installed: all go. */
	neutralise_libraries("pg_stat_statements", "/nonexistent/bin", kept, sizeof(kept), dropped);
	assert_string_equal(kept, "");
	neutralise_libraries(" \"$libdir/pg_cron.so\", timescaledb,bg_mon", "/nonexistent/bin",
		kept, sizeof(kept), dropped);
	assert_string_equal(kept, "");
	assert_int_equal(json_count(dropped), 4);
	assert_string_equal(json_text(json_at(dropped, 1), ""), "pg_cron");
	json_free(dropped);
}

static void older_servers_are_not_given_settings_they_lack(void **state)
{
	struct neutral_settings s;

	(void)state;
	neutralise_settings(&s, 14, "");
	for (size_t i = 0; i < s.count; i++)
		assert_null(strstr(s.items[i], "archive_library"));
	neutralise_settings(&s, 15, "auto_explain");
	bool has = false;
	for (size_t i = 0; i < s.count; i++)
		has = has || strcmp(s.items[i], "archive_library=") == 0;
	assert_true(has);
	assert_string_equal(s.items[s.count - 1], "shared_preload_libraries=auto_explain");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_names_files_hosts_commands_or_libraries_is_never_kept),
		cmocka_unit_test(what_changes_plans_memory_or_waits_is_kept),
		cmocka_unit_test(the_file_syntax_is_read_as_the_server_reads_it),
		cmocka_unit_test(a_value_cannot_start_another_setting),
		cmocka_unit_test(only_harmless_libraries_are_loaded),
		cmocka_unit_test(older_servers_are_not_given_settings_they_lack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
