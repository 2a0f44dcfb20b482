/* SPDX-License-Identifier: MIT */
/*
 * Exports tables as Arrow streams. Each batch of rows is one array of structs, made when a consumer
 * requests it. No Python object is used, so that consumers may call these functions in any thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

#define BATCH_ROWS 65536

/* --- Schemas --- */

/* Arrow's format of each type, and the size of a value in bytes; 0: text or bits. */
static const struct {
    const char *format;
    unsigned size;
} types[COLUMN_TYPES] = {
    [COLUMN_TEXT] = {"u", 0},   [COLUMN_BOOL] = {"b", 0},   [COLUMN_UINT16] = {"S", 2},
    [COLUMN_UINT32] = {"I", 4}, [COLUMN_UINT64] = {"L", 8}, [COLUMN_TIME] = {"tsn:UTC", 8},
};

static void release_schema(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    free(schema->private_data);
    schema->release = NULL;
}

static char *put_sized_bytes(char *out, const void *bytes, int32_t size) {
    memcpy(out, &size, sizeof size);
    memcpy(out + sizeof size, bytes, (size_t)size);
    return out + sizeof size + size;
}

#include "tables.def" /* for TABLES_VERSION */

/* Returns the number of pairs, then their keys and values, each preceded by its size. Returns NULL
   if there is no memory. */
static char *metadata_of(const struct table *table) {
    const char *pairs[][2] = {{"libcarry.table", table->name},
                              {"libcarry.tables_version", TABLES_VERSION}};
    const int32_t count = sizeof pairs / sizeof *pairs;
    char *metadata = malloc(256), *out = metadata;
    if (!metadata)
        return NULL;
    memcpy(out, &count, sizeof count);
    out += sizeof count;
    for (int32_t i = 0; i < 2 * count; i++)
        out = put_sized_bytes(out, pairs[i / 2][i % 2], (int32_t)strlen(pairs[i / 2][i % 2]));
    return metadata;
}

static struct ArrowSchema *column_schema(const struct column *column) {
    struct ArrowSchema *schema = malloc(sizeof *schema);
    if (schema)
        *schema = (struct ArrowSchema){
            .format = types[column->type].format,
            .name = column->name,
            .flags = column->is_nullable ? ARROW_FLAG_NULLABLE : 0,
            .release = release_schema,
        };
    return schema;
}

bool arrow_schema(struct ArrowSchema *schema, const struct table *table) {
    char *metadata = metadata_of(table);
    *schema = (struct ArrowSchema){
        .format = "+s",
        .name = "",
        .metadata = metadata,
        .children = calloc(table->columns_count, sizeof *schema->children),
        .release = release_schema,
        .private_data = metadata,
    };
    while (metadata && schema->children && (size_t)schema->n_children < table->columns_count) {
        struct ArrowSchema *child = column_schema(&table->columns[schema->n_children]);
        if (!child)
            break;
        schema->children[schema->n_children++] = child;
    }
    if ((size_t)schema->n_children == table->columns_count)
        return true;
    release_schema(schema);
    return false;
}

/* --- Columns --- */

/* An array that is filled, and then passed to the consumer. */
struct builder {
    struct ArrowArray array;
    const struct column *column;
    const void *buffers[3];
    uint8_t *valid; /* a bit for each value; NULL: no value is null yet */
    void *values;   /* numbers, bits, or text */
    int32_t *ends;  /* text: 0, then the end of each value */
    size_t room;    /* room for text, in bytes */
};

static void release_builder(struct ArrowArray *array) {
    struct builder *builder = array->private_data; /* may contain `array` */
    array->release = NULL;
    free(builder->valid);
    free(builder->values);
    free(builder->ends);
    free(builder);
}

static size_t bits_size(size_t bits) {
    return (bits + 7) / 8;
}

static bool builder_set_null(struct builder *builder, size_t index, size_t rows) {
    if (!builder->valid) {
        builder->valid = malloc(bits_size(rows));
        if (!builder->valid)
            return false;
        memset(builder->valid, 0xff, bits_size(rows));
    }
    builder->valid[index / 8] &= (uint8_t) ~(1u << index % 8);
    builder->array.null_count++;
    return true;
}

static bool builder_put_text(struct builder *builder, size_t index, const struct cell *cell) {
    const size_t from = (size_t)builder->ends[index], size = cell->is_null ? 0 : cell->size;
    if (size > INT32_MAX - from)
        return false;
    if (from + size > builder->room) {
        const size_t room = 2 * (from + size);
        void *more = realloc(builder->values, room);
        if (!more)
            return false;
        builder->values = more;
        builder->room = room;
    }
    if (size)
        memcpy((char *)builder->values + from, cell->text, size);
    builder->ends[index + 1] = (int32_t)(from + size);
    return true;
}

static void builder_put_number(struct builder *builder, size_t index, uint64_t number) {
    switch (types[builder->column->type].size) {
    case 2:
        ((uint16_t *)builder->values)[index] = (uint16_t)number;
        break;
    case 4:
        ((uint32_t *)builder->values)[index] = (uint32_t)number;
        break;
    case 8:
        ((uint64_t *)builder->values)[index] = number;
        break;
    default:
        ((uint8_t *)builder->values)[index / 8] |= (uint8_t)((number != 0) << index % 8);
        break;
    }
}

static bool put_cell(struct builder *builder, size_t index, size_t rows, const struct row *row) {
    struct cell cell;
    cell.is_null = false;
    builder->column->put(&cell, row);
    if (cell.is_null && !builder_set_null(builder, index, rows))
        return false;
    if (builder->column->type == COLUMN_TEXT)
        return builder_put_text(builder, index, &cell);
    builder_put_number(builder, index, cell.is_null ? 0 : cell.number);
    return true;
}

/* Returns a builder with room for `rows` rows, or NULL if there is no memory. */
static struct builder *builder_create(const struct column *column, size_t rows) {
    struct builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return NULL;
    builder->column = column;
    builder->array.private_data = builder;
    builder->array.release = release_builder;
    if (column->type == COLUMN_TEXT) {
        builder->room = 8 * rows;
        builder->ends = calloc(rows + 1, sizeof *builder->ends);
        builder->values = malloc(builder->room + 1);
    } else {
        const unsigned size = types[column->type].size;
        builder->values = calloc(1, size ? size * rows + 1 : bits_size(rows) + 1);
    }
    if (builder->values && (builder->ends || column->type != COLUMN_TEXT))
        return builder;
    release_builder(&builder->array);
    return NULL;
}

/* Returns the array for the consumer, which owns the builder. */
static struct ArrowArray builder_finish(struct builder *builder, size_t rows) {
    struct ArrowArray *array = &builder->array;
    builder->buffers[array->n_buffers++] = builder->valid;
    if (builder->ends)
        builder->buffers[array->n_buffers++] = builder->ends;
    builder->buffers[array->n_buffers++] = builder->values;
    array->buffers = builder->buffers;
    array->length = (int64_t)rows;
    return *array;
}

/* --- Batches --- */

#define COLUMNS_MAX 32

/* A consumer may move an array out of a batch, and release it before or after the batch. */
struct batch {
    const void *buffers[1]; /* NULL: no row is null */
    struct ArrowArray *children[COLUMNS_MAX];
    struct ArrowArray arrays[COLUMNS_MAX];
};

static void release_batch(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    free(array->private_data);
    array->release = NULL;
}

static bool fill_builders(struct builder **builders, const struct table *table, struct row *row,
                          size_t from, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        if (!table->row(row, from + i))
            return false;
        for (size_t c = 0; c < table->columns_count; c++)
            if (!put_cell(builders[c], i, rows, row))
                return false;
    }
    return true;
}

/* Counts the rows from row `from` on, at most BATCH_ROWS. */
static size_t count_batch_rows(const struct table *table, struct row *row, size_t from) {
    size_t rows = 0;
    while (rows < BATCH_ROWS && table->row(row, from + rows))
        rows++;
    return rows;
}

static struct ArrowArray batch_finish(struct batch *batch, struct builder **builders,
                                      size_t columns, size_t rows) {
    for (size_t i = 0; i < columns; i++) {
        batch->arrays[i] = builder_finish(builders[i], rows);
        batch->children[i] = &batch->arrays[i];
    }
    return (struct ArrowArray){.length = (int64_t)rows,
                               .n_buffers = 1,
                               .n_children = (int64_t)columns,
                               .buffers = batch->buffers,
                               .children = batch->children,
                               .release = release_batch,
                               .private_data = batch};
}

static int make_batch(struct ArrowArray *array, const struct table *table, struct row *row,
                      size_t from, size_t rows) {
    struct batch *batch = calloc(1, sizeof *batch);
    struct builder *builders[COLUMNS_MAX];
    size_t made = 0;
    while (batch && made < table->columns_count &&
           (builders[made] = builder_create(&table->columns[made], rows)))
        made++;
    if (made == table->columns_count && fill_builders(builders, table, row, from, rows)) {
        *array = batch_finish(batch, builders, made, rows);
        return 0;
    }
    while (made--)
        release_builder(&builders[made]->array);
    free(batch);
    return ENOMEM;
}

/* --- Streams --- */

struct stream {
    const struct table *table;
    struct found *found;
    size_t next; /* index of the next row */
};

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    const struct stream *own = stream->private_data;
    return arrow_schema(out, own->table) ? 0 : ENOMEM;
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    struct stream *own = stream->private_data;
    struct row row = {.found = own->found};
    const size_t rows = count_batch_rows(own->table, &row, own->next);
    *out = (struct ArrowArray){0}; /* a released array means the end */
    if (!rows)
        return 0;
    int error = make_batch(out, own->table, &row, own->next, rows);
    own->next += error ? 0 : rows;
    return error;
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "out of memory";
}

static void release_stream(struct ArrowArrayStream *stream) {
    struct stream *own = stream->private_data;
    found_release(own->found);
    free(own);
    stream->release = NULL;
}

bool arrow_stream(struct ArrowArrayStream *stream, const struct table *table, struct found *found) {
    struct stream *own = malloc(sizeof *own);
    if (!own)
        return false;
    *own = (struct stream){table, found_use(found), 0};
    *stream = (struct ArrowArrayStream){stream_get_schema, stream_get_next, stream_get_last_error,
                                        release_stream, own};
    return true;
}
