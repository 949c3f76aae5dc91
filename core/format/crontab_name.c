#include <ctype.h>

#include "core/format/crontab.h"

static struct slice base_name(struct slice word)
{
	for (size_t i = word.n; i-- > 0;)
		if (word.p[i] == '/')
			return (struct slice){ word.p + i + 1, word.n - i - 1 };
	return word;
}

static struct slice unquote(struct slice word)
{
	if (word.n >= 2 && (*word.p == '"' || *word.p == '\'') && word.p[word.n - 1] == *word.p)
		return (struct slice){ word.p + 1, word.n - 2 };
	return word;
}

static bool is_assignment(struct slice word)
{
	size_t i = 0;

	while (i < word.n && (isalnum((unsigned char)word.p[i]) || word.p[i] == '_'))
		i++;
	return i > 0 && i < word.n && word.p[i] == '=' && !isdigit((unsigned char)word.p[0]);
}

/* "python3.11" is python: the longest spelling without digits and dots. */
static bool is_interpreter(struct slice name)
{
	static const char *const known[] = { "sh", "bash", "dash", "ksh", "zsh", "psql", "flock",
		"python", "perl", "ruby", "node", "php", "env", "nice", "ionice", "timeout", "sudo",
		"nohup", "chronic", "setsid", "time", "exec" };

	while (name.n && (isdigit((unsigned char)name.p[name.n - 1]) || name.p[name.n - 1] == '.'))
		name.n--;
	for (size_t i = 0; i < LENGTH(known); i++)
		if (slice_is(name, known[i]))
			return true;
	return false;
}

/* A file argument: a path or a name with an ending, never an option or a value that
 * could be a secret. */
static bool is_file(struct slice word)
{
	if (!word.n || *word.p == '-' || is_assignment(word))
		return false;
	for (size_t i = 0; i < word.n; i++)
		if (!isalnum((unsigned char)word.p[i]) && !strchr("/._-+", word.p[i]))
			return false;
	return memchr(word.p, '/', word.n) || memchr(word.p, '.', word.n);
}

static bool is_lock(struct slice word)
{
	return word.n > 5 && memcmp(word.p + word.n - 5, ".lock", 5) == 0;
}

/* A word that flock may run: what is no option, no number of seconds and no assignment. */
static bool is_command(struct slice word)
{
	if (!word.n || !isalpha((unsigned char)*word.p))
		return false;
	for (size_t i = 0; i < word.n; i++)
		if (!isalnum((unsigned char)word.p[i]) && !strchr("._-+", word.p[i]))
			return false;
	return true;
}

static struct slice find_file(struct slice rest, bool is_flock)
{
	bool is_locked = false; /* flock's own file was passed: what it runs is next */

	for (struct slice word = cron_next_word(&rest); word.n; word = cron_next_word(&rest)) {
		/* "--file=job.sql" and "-fjob.sql" name a file too. */
		if (word.n > 7 && memcmp(word.p, "--file=", 7) == 0)
			word = (struct slice){ word.p + 7, word.n - 7 };
		else if (word.n > 2 && memcmp(word.p, "-f", 2) == 0)
			word = (struct slice){ word.p + 2, word.n - 2 };
		word = unquote(word);
		if (is_flock && is_file(word)) { /* or "-w 0.5", a time to wait */
			is_locked = !isdigit((unsigned char)*word.p);
			is_flock = !is_locked;
			continue;
		}
		if (is_locked && is_command(word) && !is_interpreter(word))
			return word;
		is_locked = is_locked && (!word.n || *word.p == '-');
		is_flock = is_flock || slice_is(base_name(word), "flock");
		if (is_file(word) && !is_lock(word) && !is_interpreter(base_name(word)))
			return word;
	}
	return (struct slice){ 0 };
}

const char *crontab_job_name(struct slice command, struct arena *arena)
{
	struct slice rest = command;
	struct slice word = cron_next_word(&rest);

	while (word.n && is_assignment(word))
		word = cron_next_word(&rest);
	struct slice name = base_name(unquote(word));
	if (is_interpreter(name)) {
		struct slice file = find_file(rest, slice_is(name, "flock"));

		if (file.n)
			name = base_name(file);
	}
	while (name.n && strchr(";&|<>()", name.p[name.n - 1]))
		name.n--;
	return arena_copy(arena, name.n ? name : SLICE("command")).p;
}
