#include "capture/privilege.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

void privilege_no_core(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
}

static bool read_id(const char *name, id_t *ret_id)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || !*text)
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || v == 0 || v >= UINT32_MAX)
		return false;
	*ret_id = (id_t)v;
	return true;
}

bool privilege_is_sudo(void)
{
	id_t id;

	return geteuid() == 0 && read_id("SUDO_UID", &id);
}

uid_t privilege_caller(const char **ret_name)
{
	id_t id = getuid();

	if (geteuid() == 0)
		read_id("SUDO_UID", &id);
	const struct passwd *user = getpwuid((uid_t)id);
	*ret_name = user ? user->pw_name : NULL;
	return (uid_t)id;
}

bool privilege_drop(int output_fd, struct err *e)
{
	id_t uid = NOBODY, gid = NOBODY;
	const struct passwd *nobody;
	struct stat st;
	pid_t parent = getppid();
	int death_signal = 0;

	if (geteuid() != 0)
		return true;
	prctl(PR_GET_PDEATHSIG, &death_signal);
	if (read_id("SUDO_UID", &uid)) {
		if (!read_id("SUDO_GID", &gid))
			gid = uid;
		/* Only a file: /dev/null stays the system's. */
		if (output_fd >= 0 && fstat(output_fd, &st) == 0 &&
			(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
			fchown(output_fd, (uid_t)uid, (gid_t)gid) != 0)
			return err_os(e, ERR_ENV, errno, "could not give the output to user %u",
				(unsigned)uid);
	} else if ((nobody = getpwnam("nobody"))) {
		uid = nobody->pw_uid;
		gid = nobody->pw_gid;
	}
	/* A folder is written into later, by nobody too. */
	if (uid == NOBODY && output_fd >= 0 && fstat(output_fd, &st) == 0 && S_ISDIR(st.st_mode) &&
		fchown(output_fd, (uid_t)uid, (gid_t)gid) != 0 && errno != EINVAL)
		return err_os(e, ERR_ENV, errno, "could not give the folder to 'nobody'");
	/* In a user namespace without that id there is nobody to become. */
	if (setgroups(0, NULL) != 0 || setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) != 0 ||
		setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) != 0) {
		if (errno == EINVAL || (errno == EPERM && uid == NOBODY))
			return true;
		return err_os(e, ERR_ENV, errno, "could not become user %u", (unsigned)uid);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* A change of user clears it: without it a capture outlives a demo that was killed. */
	if (death_signal && (prctl(PR_SET_PDEATHSIG, death_signal) != 0 || getppid() != parent))
		return err_set(e, ERR_INTERRUPTED, "the program that started this one is gone");
	return true;
}
