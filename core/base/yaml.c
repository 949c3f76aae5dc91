#include "core/base/yaml.h"

#include <stdlib.h>
#include <yaml.h>

struct yaml_stream {
	yaml_parser_t parser;
	bool is_too_deep;
};

/* Brackets of texts and comments count, too: they seldom stay open. */
static bool opens_too_many(struct slice text)
{
	size_t open = 0;

	for (size_t i = 0; i < text.n && open <= YAML_OPEN_MAX; i++) {
		if (text.p[i] == '[' || text.p[i] == '{')
			open++;
		else if (open && (text.p[i] == ']' || text.p[i] == '}'))
			open--;
	}
	return open > YAML_OPEN_MAX;
}

struct yaml_stream *yaml_open(struct slice text)
{
	struct yaml_stream *y = calloc(1, sizeof(*y));

	if (!y || !yaml_parser_initialize(&y->parser)) {
		free(y);
		return NULL;
	}
	y->is_too_deep = opens_too_many(text);
	yaml_parser_set_input_string(
		&y->parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
	return y;
}

void yaml_close(struct yaml_stream *y)
{
	if (!y)
		return;
	yaml_parser_delete(&y->parser);
	free(y);
}

/* One document on its way. */
struct conversion {
	yaml_document_t *document;
	size_t nodes;
};

static const char *text_of(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* Plain scalars have types; there is no setter for a value alone, so into a map. */
static void set_scalar(struct json *map, const char *key, const yaml_node_t *node)
{
	const char *text = text_of(node);
	char *end;
	long long v = strtoll(text, &end, 10);

	if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		json_set_slice(map, key, (struct slice){ text, node->data.scalar.length });
	else if (!*text || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0)
		json_set_null(map, key);
	else if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
		json_set_bool(map, key, strcasecmp(text, "true") == 0);
	else if (!*end && strlen(text) < 19)
		json_set_int(map, key, v);
	else
		json_set_slice(map, key, (struct slice){ text, node->data.scalar.length });
}

static struct json *convert(struct conversion *c, int index, int depth);

static bool set_node(struct conversion *c, struct json *map, const char *key, int index, int depth)
{
	yaml_node_t *node = yaml_document_get_node(c->document, index);

	if (!node || ++c->nodes > YAML_NODES_MAX || depth > YAML_DEPTH_MAX)
		return false;
	if (node->type == YAML_SCALAR_NODE) {
		set_scalar(map, key, node);
		return true;
	}
	struct json *child = convert(c, index, depth + 1);
	if (child)
		json_set(map, key, child);
	return child != NULL;
}

static bool fill_map(struct conversion *c, struct json *map, const yaml_node_t *node, int depth)
{
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(c->document, pair->key);

		if (!key || key->type != YAML_SCALAR_NODE ||
			!set_node(c, map, text_of(key), pair->value, depth))
			return false;
	}
	return true;
}

static bool fill_list(struct conversion *c, struct json *list, const yaml_node_t *node, int depth)
{
	for (yaml_node_item_t *item = node->data.sequence.items.start;
		item < node->data.sequence.items.top; item++) {
		struct json *box = json_object();
		bool ok = set_node(c, box, "v", *item, depth);

		if (ok)
			json_append(list, json_copy(json_get(box, "v")));
		json_free(box);
		if (!ok)
			return false;
	}
	return true;
}

/* A map or a list. */
static struct json *convert(struct conversion *c, int index, int depth)
{
	const yaml_node_t *node = yaml_document_get_node(c->document, index);
	bool is_map = node->type == YAML_MAPPING_NODE;
	struct json *made = is_map ? json_object() : json_array();

	if (made && (is_map ? fill_map(c, made, node, depth) : fill_list(c, made, node, depth)))
		return made;
	json_free(made);
	return NULL;
}

static enum step convert_root(yaml_document_t *document, struct json **ret, struct err *e)
{
	const yaml_node_t *root = yaml_document_get_root_node(document);
	struct conversion c = { .document = document };

	if (!root)
		return STEP_END;
	*ret = root->type == YAML_SCALAR_NODE ? json_object() : convert(&c, 1, 0);
	if (*ret)
		return STEP_ITEM;
	err_set(e, ERR_INPUT,
		"a YAML document is too large, too deep, or has a key that is no text");
	err_in(e, "line %zu", document->start_mark.line + 1);
	return STEP_FAIL;
}

enum step yaml_next(struct yaml_stream *y, struct json **ret, struct err *e)
{
	yaml_document_t document;

	*ret = NULL;
	if (y->is_too_deep) {
		err_set(e, ERR_INPUT, "more than %d brackets are open at once", YAML_OPEN_MAX);
		return STEP_FAIL;
	}
	if (!yaml_parser_load(&y->parser, &document)) {
		err_set(e, ERR_INPUT, "%s", y->parser.problem ? y->parser.problem : "no YAML");
		err_in(e, "line %zu", y->parser.problem_mark.line + 1);
		return STEP_FAIL;
	}
	enum step step = convert_root(&document, ret, e);
	yaml_document_delete(&document);
	return step;
}
