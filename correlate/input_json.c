#include "correlate/input_private.h"

/* A time may be a string or a number, a latency is a number. */
static bool is_kind(enum input_part part, const struct jsonline_member *m)
{
	if (m->kind == JSONLINE_ARRAY || (m->kind == JSONLINE_BARE && slice_is(m->value, "null")))
		return false;
	if (part == PART_MS)
		return m->kind == JSONLINE_BARE;
	return part != PART_ROUTE || m->kind == JSONLINE_STRING;
}

bool input_json_line(struct text_reader *r, struct slice line, struct err *e)
{
	const struct input_name *names[PARTS] = { NULL };
	struct input_parts parts = { 0 };
	struct jsonline_member m;
	enum step step = STEP_FAIL;

	if (jsonline_open(&r->json, line))
		while ((step = jsonline_next(&r->json, &m)) == STEP_ITEM) {
			const struct input_name *name = m.depth == 1 ? input_name_of(m.name) : NULL;

			if (!name || (names[name->part] && names[name->part] < name))
				continue;
			names[name->part] = name;
			parts.text[name->part] =
				is_kind(name->part, &m) ? m.value : (struct slice){ 0 };
		}
	if (step != STEP_END)
		return err_set(e, ERR_INPUT, "not a JSON object, or cut");
	const char *lack = input_lack(names);
	if (lack)
		return err_set(e, ERR_INPUT, "%s", lack);
	parts.unit_ns = names[PART_MS]->unit_ns;
	return input_add(r, &parts, e);
}
