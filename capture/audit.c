#include "capture/audit.h"

#include <syslog.h>
#include <unistd.h>

#include "capture/privilege.h"

struct json *audit_begin(const struct run *r, const struct source *s)
{
	const char *name;
	uid_t uid = privilege_caller(&name);
	struct json *a = json_object();

	json_set_text(a, "user", name);
	json_set_int(a, "uid", (int64_t)uid);
	json_set_time(a, "when", clock_wall_ns(&r->clock));
	json_set_text(a, "interfaces", s->name);
	json_set_text(a, "filter", source_live_filter(s));
	openlog("reprod", LOG_PID | LOG_NDELAY, LOG_AUTHPRIV);
	return a;
}

void audit_tell(
	struct json *a, const struct source *s, const char *policy_digest, const char *output)
{
	json_set_text(a, "policy_digest", policy_digest);
	syslog(LOG_NOTICE, "capture on %s, filter '%s', uid %u, to %s, policy %.12s", s->name,
		source_live_filter(s), (unsigned)json_int(json_get(a, "uid"), -1), output,
		policy_digest);
	closelog();
}
