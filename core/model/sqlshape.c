#include "core/model/sqlshape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t sqlitem_param(const struct sql_token *item)
{
	uint32_t v = 0;

	for (size_t i = 1; i < item->text.n; i++) {
		v = 10 * v + (uint32_t)(item->text.p[i] - '0');
		if (v > SQL_PARAMS_MAX)
			return 0;
	}
	return v;
}

static void build_template(const struct sql_token *items, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (items[i].has_gap && i > 0)
			buf_add_byte(out, ' ');
		if (item_is_literal(&items[i]))
			buf_add_byte(out, TEMPLATE_SLOT);
		else
			buf_add_slice(out, items[i].text);
	}
}

static void count(
	const struct sql_token *items, size_t n, uint32_t *ret_slots, uint32_t *ret_params)
{
	*ret_slots = *ret_params = 0;
	for (size_t i = 0; i < n; i++) {
		if (item_is_literal(&items[i]))
			++*ret_slots;
		uint32_t param = items[i].kind == SQL_PARAM ? sqlitem_param(&items[i]) : 0;
		if (param > *ret_params)
			*ret_params = param;
	}
}

static struct slice place(char **at, struct slice s)
{
	struct slice placed = { *at, s.n };

	if (s.n)
		memcpy(*at, s.p, s.n);
	*at += s.n;
	return placed;
}

static enum policy_rule bind_rule(const struct policy *policy, uint64_t fingerprint, size_t n)
{
	char name[64];
	int prefix = snprintf(name, sizeof(name), "%016" PRIx64 ":", fingerprint);

	snprintf(name + prefix, sizeof(name) - (size_t)prefix, "$%zu", n);
	enum policy_rule rule = policy_rule(policy, POLICY_BIND, slice_of(name));
	return rule ? rule : policy_rule(policy, POLICY_BIND, slice_of(name + prefix));
}

/* Rules of places go before those of columns, and a route's before all. */
static void apply_rules(const struct policy *policy, const struct sqlshape *shape,
	struct slice route_text, struct slot *slots, struct slot *params)
{
	enum policy_rule route = POLICY_NONE;

	if (policy_has(policy, POLICY_ROUTE))
		route = policy_rule(policy, POLICY_ROUTE, route_text);
	for (uint32_t i = 0; i < shape->param_count; i++) {
		enum policy_rule rule = route;

		if (!rule && policy_has(policy, POLICY_BIND))
			rule = bind_rule(policy, shape->fingerprint, i + 1);
		if (rule)
			params[i].action = (uint8_t)rule;
		if (shape->flags & REQUEST_SECRET)
			params[i].action = POLICY_DROP;
	}
	for (uint32_t i = 0; route && i < shape->slot_count; i++)
		slots[i].action = (uint8_t)route;
}

struct sqlshape *sqlshape_of_tree(const struct sqltree_slot *slots, size_t n)
{
	size_t size = sizeof(struct sqlshape) + n * sizeof(*slots);
	struct sqlshape *shape = calloc(1, size);

	if (!shape)
		return NULL;
	struct sqltree_slot *copy = (struct sqltree_slot *)(void *)(shape + 1);
	if (n)
		memcpy(copy, slots, n * sizeof(*slots));
	*shape = (struct sqlshape){
		.references = 1, .slot_count = (uint32_t)n, .size_bytes = size, .tree = copy
	};
	return shape;
}

struct sqlshape *sqlshape_new(const struct sqlshape_source *source, struct buf scratch[2])
{
	const struct sql_token *items = source->items;
	size_t n = source->n;
	struct sqlshape head = { .references = 1 };
	struct buf *template = &scratch[0], *route = &scratch[1];

	buf_reset(template);
	buf_reset(route);
	sqlverb_judge(items, n, &head);
	sqlroute_build(items, n, route, &head.fingerprint);
	if (!(head.flags & REQUEST_SECRET))
		build_template(items, n, template);
	if (template->is_full || route->is_full)
		return NULL;
	count(items, n, &head.slot_count, &head.param_count);

	size_t slots = head.slot_count * sizeof(struct slot);
	size_t params = head.param_count * sizeof(struct slot);
	head.size_bytes = sizeof(head) + slots + params + head.param_count + template->n + route->n;
	struct sqlshape *shape = calloc(1, head.size_bytes);
	if (!shape)
		return NULL;
	char *at = (char *)(shape + 1);
	struct slot *slot = (struct slot *)(void *)at;
	struct slot *param = slot + head.slot_count;
	uint8_t *roles = (uint8_t *)(param + head.param_count);
	if (!sqlrole_assign(source, slot, param, head.param_count)) {
		free(shape);
		return NULL;
	}
	apply_rules(source->policy, &head, buf_slice(route), slot, param);
	for (uint32_t i = 0; i < head.param_count; i++)
		roles[i] = param[i].role;
	at += slots + params + head.param_count;
	head.template_text = place(&at, buf_slice(template));
	head.route = place(&at, buf_slice(route));
	head.slots = slot;
	head.params = param;
	head.param_roles = roles;
	*shape = head;
	return shape;
}

void sqlshape_release(struct sqlshape *shape)
{
	if (shape && --shape->references == 0)
		free(shape);
}
