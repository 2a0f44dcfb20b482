/* SPDX-License-Identifier: MIT */
#include "module.h"

#include <carry/carry.h>

#include "audit/usage.h"
#include "check/page_parts.h"
#include "common/text.h"
#include "errors.h"

struct module_state *module_state(PyObject *module) {
    return PyModule_GetState(module);
}

struct module_state *module_state_of(PyTypeObject *type) {
    return PyType_GetModuleState(type);
}

PyTypeObject *module_type(PyObject *module, PyType_Spec *spec, const char *public_name) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && public_name && PyModule_AddObjectRef(module, public_name, type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

/* Returns a tuple of names in the order of their numbers: ("good", "bad", ...). */
static PyObject *names_tuple(const char *(*name)(unsigned), unsigned count) {
    PyObject *tuple = PyTuple_New(count);
    for (unsigned i = 0; tuple && i < count; i++) {
        PyObject *text = PyUnicode_InternFromString(name(i));
        if (!text || PyTuple_SetItem(tuple, i, text) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static bool add_object(PyObject *module, const char *name, PyObject *object) {
    int result = object ? PyModule_AddObjectRef(module, name, object) : -1;
    Py_XDECREF(object);
    return result == 0;
}

/* Returns words about one checksum with a cause. They follow "it". */
static const char *cause_words(unsigned cause) {
    const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
    return words ? words->one : "";
}

/* Returns words about several checksums with a cause. They follow the number. */
static const char *cause_many(unsigned cause) {
    const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
    return words && words->many ? words->many : "";
}

static const char *cause_advice(unsigned cause) {
    const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
    return words && words->advice ? words->advice : "";
}

/* Names of causes that other packets of a flow show, with a space before each name. */
#define OF_FLOW(name)  " " #name
#define OF_FRAME(name) ""
#define OF_SAID(name)  ""
static const char flow_causes[] =
#define CARRY_CAPTURE_CAUSE(id, name, verdict, evidence, one, many, advice) OF_##evidence(name)
#include <carry/capture_causes.def>
#undef CARRY_CAPTURE_CAUSE
    ;

static bool add_names(PyObject *module) {
    return add_object(module, "PROTOCOLS",
                      names_tuple(carry_packet_protocol_name, CARRY_PROTOCOL_COUNT)) &&
           add_object(module, "VERDICTS",
                      names_tuple(carry_packet_verdict_name, CARRY_VERDICT_COUNT)) &&
           add_object(module, "REASONS",
                      names_tuple(carry_packet_reason_name, CARRY_REASON_COUNT)) &&
           add_object(module, "CAUSES",
                      names_tuple(carry_capture_cause_name, CARRY_CAPTURE_CAUSE_COUNT)) &&
           add_object(module, "CAUSE_WORDS", names_tuple(cause_words, CARRY_CAPTURE_CAUSE_COUNT)) &&
           PyModule_AddStringConstant(module, "AUDIT_USAGE", audit_usage) == 0 &&
           add_object(module, "CAUSE_MANY", names_tuple(cause_many, CARRY_CAPTURE_CAUSE_COUNT)) &&
           add_object(module, "CAUSE_ADVICE",
                      names_tuple(cause_advice, CARRY_CAPTURE_CAUSE_COUNT)) &&
           add_object(module, "VERDICT_CLASSES",
                      names_tuple(page_verdict_class, CARRY_VERDICT_COUNT)) &&
           add_object(module, "REASON_WORDS",
                      names_tuple(carry_capture_reason_text, CARRY_REASON_COUNT)) &&
           PyModule_AddStringConstant(module, "PAGE_HEAD", page_head) == 0 &&
           PyModule_AddStringConstant(module, "PAGE_STYLE", page_style) == 0 &&
           PyModule_AddStringConstant(module, "FLOW_CAUSES", flow_causes) == 0 &&
           PyModule_AddStringConstant(module, "__version__", carry_version_text()) == 0;
}

static int module_execute(PyObject *module) {
    struct module_state *state = module_state(module);
    text_use_colours(COLOURS_NEVER);
    PyMethodDef *const methods[] = {sum_methods, packet_methods, capture_methods, part_methods,
                                    table_methods};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (PyModule_AddFunctions(module, methods[i]) < 0)
            return -1;
    return errors_create(module, state) && packet_types(module, state) &&
                   capture_types(module, state) && result_types(module, state) &&
                   table_types(module, state) && add_names(module)
               ? 0
               : -1;
}

/* Applies the macro `do` to each object that a module's state refers to. */
#define FOR_EACH_OBJECT(state, do)                                                                 \
    do                                                                                             \
        ((state)->capture_error);                                                                  \
    do                                                                                             \
        ((state)->capture_damaged);                                                                \
    do                                                                                             \
        ((state)->not_a_capture);                                                                  \
    do                                                                                             \
        ((state)->packet_sum);                                                                     \
    do                                                                                             \
        ((state)->packet_sums);                                                                    \
    do                                                                                             \
        ((state)->finding);                                                                        \
    do                                                                                             \
        ((state)->capture);                                                                        \
    do                                                                                             \
        ((state)->result);                                                                         \
    do                                                                                             \
    ((state)->table)

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    struct module_state *state = module_state(module);
    FOR_EACH_OBJECT(state, Py_VISIT);
    return 0;
}

static int module_clear(PyObject *module) {
    struct module_state *state = module_state(module);
    FOR_EACH_OBJECT(state, Py_CLEAR);
    return 0;
}

static void module_free(void *module) {
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "libcarry._carry",
    .m_doc = "The part of libcarry that is written in C. Use the package, libcarry.",
    .m_size = sizeof(struct module_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__carry(void);

PyMODINIT_FUNC PyInit__carry(void) {
    return PyModuleDef_Init(&definition);
}
