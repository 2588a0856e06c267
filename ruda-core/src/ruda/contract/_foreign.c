/* PackedCall: what foreign.py's packed_call gives, in C. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int (*function)(void *, void *, void *, void *);
    void *words[4];
    const char **cell;
    PyObject *keep;
} PackedCall;

static PyObject *packed_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    PackedCall *self = (PackedCall *)object;
    if (names != NULL || PyVectorcall_NARGS(flags) != 1 || !PyBytes_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "the packed block is bytes");
        return NULL;
    }
    int status;
    void **words = self->words;
    *self->cell = PyBytes_AS_STRING(args[0]);
    Py_BEGIN_ALLOW_THREADS
    status = self->function(words[0], words[1], words[2], words[3]);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(status);
}

static PyObject *packed_call_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"address", "words", "cell", "keep", NULL};
    unsigned long long address, words[4], cell;
    PyObject *keep;
    if (!PyArg_ParseTupleAndKeywords(args, named, "K(KKKK)KO", names, &address, &words[0], &words[1], &words[2],
                                     &words[3], &cell, &keep))
        return NULL;
    PackedCall *self = (PackedCall *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = packed_call;
    self->function = (int (*)(void *, void *, void *, void *))(uintptr_t)address;
    for (int i = 0; i < 4; i++)
        self->words[i] = (void *)(uintptr_t)words[i];
    self->cell = (const char **)(uintptr_t)cell;
    self->keep = Py_NewRef(keep);
    return (PyObject *)self;
}

static int packed_call_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((PackedCall *)object)->keep);
    return 0;
}

static int packed_call_clear(PyObject *object)
{
    Py_CLEAR(((PackedCall *)object)->keep);
    return 0;
}

static void packed_call_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    packed_call_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject packed_call_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ruda.contract._foreign.PackedCall",
    .tp_basicsize = sizeof(PackedCall),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(PackedCall, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = packed_call_new,
    .tp_traverse = packed_call_traverse,
    .tp_clear = packed_call_clear,
    .tp_dealloc = packed_call_dealloc,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "ruda.contract._foreign", .m_size = -1};

PyMODINIT_FUNC PyInit__foreign(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddType(module, &packed_call_type) < 0)
        Py_CLEAR(module);
    return module;
}
