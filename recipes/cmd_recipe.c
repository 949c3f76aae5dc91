#include "core/model/recipe.h"
#include "recipes/commands.h"
#include "recipes/recipes.h"

static void print_faults(const struct recipe_faults *f, const char *path, const struct run *r)
{
	for (size_t i = 0; i < f->count; i++)
		fprintf(r->out, "%s: %s: %s\n", path, f->items[i].pointer, f->items[i].what);
	if (f->more > 0)
		fprintf(r->out, "%s: %zu more faults\n", path, f->more);
	if (f->count == 0)
		fprintf(r->out, "%s: no fault\n", path);
}

static void print_json(const struct recipe_faults *f, const struct run *r)
{
	struct json *j = json_object(), *list = json_array();

	json_set_bool(j, "ok", f->count == 0);
	json_set(j, "faults", list);
	for (size_t i = 0; i < f->count; i++) {
		struct json *item = json_object();

		json_set_text(item, "pointer", f->items[i].pointer);
		json_set_text(item, "what", f->items[i].what);
		json_append(list, item);
	}
	json_set_int(j, "more", (int64_t)f->more);
	json_print(j, r->out);
	json_free(j);
}

static enum outcome check_main(struct run *r, void *args, struct cli_operands ops, struct err *e)
{
	struct recipe recipe;
	struct recipe_faults faults = { 0 };
	bool ok;

	(void)args;
	if (ops.count != 1) {
		err_set(e, ERR_USAGE, "one recipe is needed");
		return OUTCOME_FAILED;
	}
	ok = recipe_load(&recipe, ops.items[0], e);
	if (ok) {
		recipe_check(&recipe, &faults);
		if (r->is_json)
			print_json(&faults, r);
		else
			print_faults(&faults, ops.items[0], r);
	}
	recipe_free(&recipe);
	if (!ok)
		return OUTCOME_FAILED;
	return faults.count ? OUTCOME_NO : OUTCOME_YES;
}

const struct cli_command recipe_check_command = {
	.name = "check",
	.summary = "name every fault of a recipe by its JSON pointer",
	.usage = "recipe check R.json",
	.notes =
		"Exit code 0: it can be run. 1: faults, one a line. 3: no recipe, or one of a newer version.",
	.main = check_main,
};

static const struct cli_command *const subs[] = { &recipe_draft_command, &recipe_check_command,
	&recipe_run_command, NULL };

const struct cli_command recipe_command = {
	.name = "recipe",
	.summary = "the experiment: does it come back, and what is needed for that?",
	.usage = "recipe draft|check|run ...",
	.subs = subs,
};
