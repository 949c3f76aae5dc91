#include "core/driver/pginstall.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <locale.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/proc.h"
#include "core/driver/pgserver.h"

bool pginstall_has_locale(const char *name)
{
	locale_t l = newlocale(LC_ALL_MASK, name, (locale_t)0);

	if (l == (locale_t)0)
		return false;
	freelocale(l);
	return true;
}

bool pginstall_tool(const char *bin_dir, const char *name, char path[1100])
{
	snprintf(path, 1100, "%s/%s", bin_dir, name);
	return access(path, X_OK) == 0;
}

/* 0 when there is no working postgres in the folder. */
static int major_of(const char *bin_dir)
{
	struct run r = { 0 };
	struct err ignored = { 0 };
	char path[1100];
	const char *const argv[] = { path, "--version", NULL };
	struct proc_spec spec = {
		.argv = argv, .cwd = "/", .wants_output = true, .timeout_ns = 10 * NS_PER_S
	};
	struct buf output = { 0 };
	int major = 0;

	if (!pginstall_tool(bin_dir, "postgres", path))
		return 0;
	if (proc_run(&spec, &r, &output, &ignored)) {
		/* "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)", "... 18beta1" */
		const char *at = strstr(buf_text(&output), "(PostgreSQL) ");

		major = at ? atoi(at + 13) : 0;
	}
	buf_free(&output);
	return major;
}

struct search {
	int wanted, best;
	char bin_dir[1024];
};

static void consider(struct search *s, const char *bin_dir)
{
	int major;

	if (s->wanted && s->best == s->wanted)
		return;
	major = major_of(bin_dir);
	if (major < 10 || (s->wanted && major != s->wanted) || major <= s->best)
		return;
	s->best = major;
	snprintf(s->bin_dir, sizeof(s->bin_dir), "%s", bin_dir);
}

static void consider_program(struct search *s, const char *program)
{
	char path[4096], real[PATH_MAX];
	char *slash;

	if (!proc_find(program, path) || !realpath(path, real))
		return;
	slash = strrchr(real, '/');
	if (slash)
		*slash = '\0';
	consider(s, real);
}

static void consider_config(struct search *s)
{
	struct run r = { 0 };
	struct err ignored = { 0 };
	const char *const argv[] = { "pg_config", "--bindir", NULL };
	struct proc_spec spec = { .argv = argv, .wants_output = true, .timeout_ns = 10 * NS_PER_S };
	struct buf output = { 0 };
	char path[4096];

	if (proc_find("pg_config", path) && proc_run(&spec, &r, &output, &ignored)) {
		char *text = output.p;

		if (text) {
			text[strcspn(text, "\n")] = '\0';
			consider(s, text);
		}
	}
	buf_free(&output);
}

static void consider_packages(struct search *s)
{
	static const char *const patterns[] = { "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/usr/local/pgsql/bin", "/opt/postgresql/*/bin" };

	for (size_t i = 0; i < LENGTH(patterns); i++) {
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			consider(s, found.gl_pathv[k]);
		globfree(&found);
	}
}

bool pgserver_find(int major, char bin_dir[1024], struct err *e)
{
	struct search s = { .wanted = major };

	consider_packages(&s);
	consider_program(&s, "postgres");
	consider_program(&s, "initdb");
	consider_config(&s);
	if (!s.best && major) {
		err_set(e, ERR_ENV, "the programs of PostgreSQL %d are not installed here", major);
		return err_hint(e, "install them: apt-get install postgresql-%d", major);
	}
	if (!s.best) {
		err_set(e, ERR_ENV, "no PostgreSQL server is installed here");
		return err_hint(e, "install one: apt-get install postgresql");
	}
	snprintf(bin_dir, 1024, "%s", s.bin_dir);
	return true;
}

static bool find_user(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
	struct passwd entry, *found = NULL;
	char text[4096];

	if (getpwnam_r(name, &entry, text, sizeof(text), &found) != 0 || !found)
		return false;
	*ret_uid = found->pw_uid;
	*ret_gid = found->pw_gid;
	return true;
}

bool pgserver_user(uid_t *ret_uid, gid_t *ret_gid, bool *ret_has_user, struct err *e)
{
	*ret_has_user = geteuid() == 0;
	*ret_uid = geteuid();
	*ret_gid = getegid();
	if (!*ret_has_user)
		return true;
	if (find_user("postgres", ret_uid, ret_gid) || find_user("nobody", ret_uid, ret_gid))
		return true;
	err_set(e, ERR_ENV, "root needs an unprivileged user to run Postgres as, and has none");
	return err_hint(e, "create one: useradd --system postgres");
}
