#include "core/base/cli_private.h"

enum { NAME_MAX_LENGTH = 32, COLUMN_MAX = 30 };

/* Levenshtein's distance, with one row; names longer than the limit are never near. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LENGTH + 1];
	size_t m = strlen(a), n = strlen(b);

	if (m > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			best = row[j] + 1 < best ? row[j] + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[n];
}

struct nearest {
	const char *name;
	size_t distance;
};

static void consider(struct nearest *best, const char *name, const char *typed)
{
	size_t typed_length = strlen(typed);
	size_t d = distance(name, typed);

	/* An abbreviation is near, whatever its distance. */
	if (typed_length >= 3 && strncmp(name, typed, typed_length) == 0)
		d = 1;
	if (d <= 2 && d < typed_length && d < best->distance)
		*best = (struct nearest){ name, d };
}

const char *cli_nearest_option(const struct cli_command *c, const char *name)
{
	struct nearest best = { NULL, SIZE_MAX };

	for (const struct cli_option *o = c->options; o && o->name; o++)
		consider(&best, o->name, name);
	for (const struct cli_option *o = cli_common_options; o->name; o++)
		consider(&best, o->name, name);
	return best.name;
}

const char *cli_nearest_command(const struct cli_command *c, const char *name)
{
	struct nearest best = { NULL, SIZE_MAX };

	for (size_t i = 0; c->subs && c->subs[i]; i++)
		consider(&best, c->subs[i]->name, name);
	return best.name;
}

static void print_usage(const struct cli_command *c, const char *path, FILE *to)
{
	const char *before = "usage:";

	if (!c->usage) {
		fprintf(to, "usage: reprod%s%s%s\n", path[0] ? " " : "", path,
			c->subs ? " COMMAND [ARGUMENT...]" : " [OPTION...]");
		return;
	}
	for (const char *line = c->usage; *line;) {
		size_t n = strcspn(line, "\n");

		fprintf(to, "%-6s reprod %.*s\n", before, (int)n, line);
		before = "";
		line += n + (line[n] == '\n');
	}
}

static int option_text(const struct cli_option *o, char *text, size_t size)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	return snprintf(text, size, "%s--%s%s%s", letter, o->name, o->value ? " " : "",
		o->value ? o->value : "");
}

/* One line of two columns; a first column too long has a line of its own. */
static void print_row(const char *first, const char *second, int width, FILE *to)
{
	if ((int)strlen(first) > width)
		fprintf(to, "  %s\n  %*s  %s\n", first, width, "", second);
	else
		fprintf(to, "  %-*s  %s\n", width, first, second);
}

static int widest_option(const struct cli_option *o, int width)
{
	char text[128];

	for (; o && o->name; o++) {
		int n = option_text(o, text, sizeof(text));

		if (n > width && n <= COLUMN_MAX)
			width = n;
	}
	return width;
}

static void print_options(const struct cli_option *o, int width, FILE *to)
{
	char text[128];

	for (; o && o->name; o++) {
		option_text(o, text, sizeof(text));
		print_row(text, o->help, width, to);
	}
}

static void print_commands(const struct cli_command *c, FILE *to)
{
	int width = 0;

	for (size_t i = 0; c->subs[i]; i++)
		if ((int)strlen(c->subs[i]->name) > width)
			width = (int)strlen(c->subs[i]->name);
	fputs("\ncommands:\n", to);
	for (size_t i = 0; c->subs[i]; i++)
		print_row(c->subs[i]->name, c->subs[i]->summary, width, to);
}

void cli_help(const struct cli_command *c, const char *path, FILE *to)
{
	int width = widest_option(cli_common_options, widest_option(c->options, 0));

	print_usage(c, path, to);
	fprintf(to, "\n%s\n", c->summary);
	if (c->subs)
		print_commands(c, to);
	fputs("\noptions:\n", to);
	print_options(c->options, width, to);
	print_options(cli_common_options, width, to);
	if (c->notes)
		fprintf(to, "\n%s\n", c->notes);
}
