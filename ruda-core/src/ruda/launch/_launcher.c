/* Launcher and Run stand before the functions ``bound`` and ``run`` that codegen.py generates, and do what those do
   where nothing is unusual. Whatever else there is they leave to them, errors above all, and have done nothing by then.
*/

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#ifdef Py_GIL_DISABLED
#error "slots of arrays are read as the GIL allows it"
#endif

/* The most arguments of a kernel, hidden ones included, that are worth it. */
#define MOST 64

static PyTypeObject *array_type, *memory_type;
static Py_ssize_t sig_offset, packed_offset, memory_offset, owner_offset;
static PyObject *server_name, *no_bindings;

/* What a slot of an object holds, or NULL; borrowed. */
static inline PyObject *slot(PyObject *object, Py_ssize_t offset)
{
    return *(PyObject **)((char *)object + offset);
}

static void dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    Py_TYPE(object)->tp_clear(object);
    Py_TYPE(object)->tp_free(object);
}

/* --- Run: packs, compares owners and launches --- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python, *stream, *server, *acquire, *release, *launch, *pack, *hidden, *treatments;
} Run;

/* Under the stream's lock: 1 where it was launched, 0 where an owner or the server is another, -1 with an error. */
static int launched(Run *self, PyObject *packed, PyObject *const *memories, Py_ssize_t arrays)
{
    PyObject *server = PyObject_GetAttr(self->stream, server_name);
    if (server == NULL)
        return -1;
    int same = server == self->server;
    Py_DECREF(server);
    for (Py_ssize_t i = 0; same && i < arrays; i++)
        same = slot(memories[i], owner_offset) == self->stream;
    if (!same)
        return 0;
    PyObject *given[] = {packed, no_bindings};
    PyObject *done = PyObject_Vectorcall(self->launch, given, 2, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 1;
}

/* As launched; 0 also where arguments are not what they seemed, or do not fit. */
static int run_natively(Run *self, PyObject *const *args, Py_ssize_t count)
{
    PyObject *values[MOST], *memories[MOST];
    Py_ssize_t packs = 0, arrays = 0, hidden = PyTuple_GET_SIZE(self->hidden);
    const char *treatments = PyBytes_AS_STRING(self->treatments);
    if (count != PyBytes_GET_SIZE(self->treatments))
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (treatments[i] == 'a') {
            if (!Py_IS_TYPE(args[i], array_type))
                return 0;
            values[packs++] = slot(args[i], packed_offset);
            memories[arrays++] = slot(args[i], memory_offset);
        } else if (treatments[i] == 'd') {
            values[packs++] = args[i];
        }
    }
    for (Py_ssize_t i = 0; i < hidden; i++)
        values[packs++] = PyTuple_GET_ITEM(self->hidden, i);
    for (Py_ssize_t i = 0; i < packs; i++)
        if (values[i] == NULL)
            return 0;
    for (Py_ssize_t i = 0; i < arrays; i++)
        if (memories[i] == NULL || !Py_IS_TYPE(memories[i], memory_type))
            return 0;

    /* Packing a number may run its __index__, and that anything. */
    for (Py_ssize_t i = 0; i < packs; i++)
        Py_INCREF(values[i]);
    for (Py_ssize_t i = 0; i < arrays; i++)
        Py_INCREF(memories[i]);
    int result = 0;
    PyObject *packed = PyObject_Vectorcall(self->pack, values, (size_t)packs, NULL);
    if (packed == NULL) {
        PyErr_Clear(); /* it comes again, where it is understood */
    } else {
        PyObject *done = PyObject_CallNoArgs(self->acquire), *type, *value, *trace;
        result = done == NULL ? -1 : launched(self, packed, memories, arrays);
        if (done != NULL) {
            Py_DECREF(done);
            PyErr_Fetch(&type, &value, &trace);
            done = PyObject_CallNoArgs(self->release);
            Py_XDECREF(done);
            PyErr_Restore(type, value, trace);
        }
        Py_DECREF(packed);
    }
    for (Py_ssize_t i = 0; i < packs; i++)
        Py_DECREF(values[i]);
    for (Py_ssize_t i = 0; i < arrays; i++)
        Py_DECREF(memories[i]);
    return result;
}

static PyObject *run_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Run *self = (Run *)object;
    int result = names == NULL ? run_natively(self, args, PyVectorcall_NARGS(flags)) : 0;
    if (result > 0)
        Py_RETURN_NONE;
    return result < 0 ? NULL : PyObject_Vectorcall(self->python, args, flags, names);
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *words[] = {"python", "stream", "lock", "server", "launch", "pack", "hidden", "treatments", NULL};
    PyObject *python, *stream, *lock, *server, *launch, *pack, *hidden, *treatments;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOOOOOO!S", words, &python, &stream, &lock, &server, &launch, &pack,
                                     &PyTuple_Type, &hidden, &treatments))
        return NULL;
    if (PyBytes_GET_SIZE(treatments) + PyTuple_GET_SIZE(hidden) > MOST)
        return PyErr_Format(PyExc_ValueError, "more than %d arguments", MOST);
    Run *self = (Run *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = run_call;
    self->python = Py_NewRef(python);
    self->stream = Py_NewRef(stream);
    self->server = Py_NewRef(server);
    self->launch = Py_NewRef(launch);
    self->pack = Py_NewRef(pack);
    self->hidden = Py_NewRef(hidden);
    self->treatments = Py_NewRef(treatments);
    self->acquire = PyObject_GetAttrString(lock, "acquire");
    self->release = PyObject_GetAttrString(lock, "release");
    if (self->acquire == NULL || self->release == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int run_traverse(PyObject *object, visitproc visit, void *arg)
{
    Run *self = (Run *)object;
    Py_VISIT(self->python);
    Py_VISIT(self->stream);
    Py_VISIT(self->server);
    Py_VISIT(self->acquire);
    Py_VISIT(self->release);
    Py_VISIT(self->launch);
    Py_VISIT(self->pack);
    Py_VISIT(self->hidden);
    Py_VISIT(self->treatments);
    return 0;
}

static int run_clear(PyObject *object)
{
    Run *self = (Run *)object;
    Py_CLEAR(self->python);
    Py_CLEAR(self->stream);
    Py_CLEAR(self->server);
    Py_CLEAR(self->acquire);
    Py_CLEAR(self->release);
    Py_CLEAR(self->launch);
    Py_CLEAR(self->pack);
    Py_CLEAR(self->hidden);
    Py_CLEAR(self->treatments);
    return 0;
}

static PyTypeObject run_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ruda.launch._launcher.Run",
    .tp_basicsize = sizeof(Run),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Run, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = run_new,
    .tp_traverse = run_traverse,
    .tp_clear = run_clear,
    .tp_dealloc = dealloc,
};

/* --- Launcher: looks up what belongs to the arguments --- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python, *runs, *kinds;
} Launcher;

/* What ``runs`` has for the arguments, a new reference, or NULL without an error. */
static PyObject *found(Launcher *self, PyObject *const *args, Py_ssize_t count)
{
    const char *kinds = PyBytes_AS_STRING(self->kinds);
    PyObject *parts[2 * MOST];
    Py_ssize_t size = 0;
    if (count != PyBytes_GET_SIZE(self->kinds))
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        int array = Py_IS_TYPE(args[i], array_type);
        if (kinds[i] == 'a' && !array)
            return NULL;
        if (array && (kinds[i] == 'a' || kinds[i] == 'o'))
            parts[size++] = slot(args[i], sig_offset);
        else
            parts[size++] = (PyObject *)Py_TYPE(args[i]);
        if (parts[size - 1] == NULL)
            return NULL;
        if (kinds[i] == 'c')
            parts[size++] = args[i];
    }
    PyObject *key = PyTuple_New(size);
    if (key == NULL) {
        PyErr_Clear();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++)
        PyTuple_SET_ITEM(key, i, Py_NewRef(parts[i]));
    PyObject *run = PyDict_GetItemWithError(self->runs, key);
    Py_XINCREF(run);
    Py_DECREF(key);
    if (run == NULL)
        PyErr_Clear(); /* it cannot be a key */
    return run;
}

static PyObject *launcher_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Launcher *self = (Launcher *)object;
    PyObject *run = names == NULL ? found(self, args, PyVectorcall_NARGS(flags)) : NULL;
    if (run == NULL)
        return PyObject_Vectorcall(self->python, args, flags, names);
    PyObject *result = PyObject_Vectorcall(run, args, flags, NULL);
    Py_DECREF(run);
    return result;
}

static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *words[] = {"python", "runs", "kinds", NULL};
    PyObject *python, *runs, *kinds;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OO!S", words, &python, &PyDict_Type, &runs, &kinds))
        return NULL;
    if (PyBytes_GET_SIZE(kinds) > MOST)
        return PyErr_Format(PyExc_ValueError, "more than %d arguments", MOST);
    Launcher *self = (Launcher *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = launcher_call;
    self->python = Py_NewRef(python);
    self->runs = Py_NewRef(runs);
    self->kinds = Py_NewRef(kinds);
    return (PyObject *)self;
}

static int launcher_traverse(PyObject *object, visitproc visit, void *arg)
{
    Launcher *self = (Launcher *)object;
    Py_VISIT(self->python);
    Py_VISIT(self->runs);
    Py_VISIT(self->kinds);
    return 0;
}

static int launcher_clear(PyObject *object)
{
    Launcher *self = (Launcher *)object;
    Py_CLEAR(self->python);
    Py_CLEAR(self->runs);
    Py_CLEAR(self->kinds);
    return 0;
}

/* It is the generated function to whoever looks: its name, its signature. */
static PyMemberDef launcher_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Launcher, python), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *launcher_getattr(PyObject *object, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(object, name);
    if (own != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(((Launcher *)object)->python, name);
}

static PyObject *launcher_repr(PyObject *object)
{
    return PyObject_Repr(((Launcher *)object)->python);
}

static PyTypeObject launcher_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "ruda.launch._launcher.Launcher",
    .tp_basicsize = sizeof(Launcher),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Launcher, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = launcher_new,
    .tp_members = launcher_members,
    .tp_getattro = launcher_getattr,
    .tp_repr = launcher_repr,
    .tp_traverse = launcher_traverse,
    .tp_clear = launcher_clear,
    .tp_dealloc = dealloc,
};

/* --- the module --- */

/* Where objects of a class have the slot ``name``; -1 with an error where it is none. */
static Py_ssize_t offset_of(PyObject *owner, const char *name)
{
    PyObject *member = PyObject_GetAttrString(owner, name);
    Py_ssize_t offset = -1;
    if (member != NULL && Py_IS_TYPE(member, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)member)->d_member->offset;
    else if (member != NULL)
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", owner, name);
    Py_XDECREF(member);
    return offset;
}

static PyObject *attach(PyObject *module, PyObject *args)
{
    PyObject *array, *memory;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &array, &PyType_Type, &memory))
        return NULL;
    Py_ssize_t sig = offset_of(array, "sig"), packed = sig < 0 ? -1 : offset_of(array, "packed");
    Py_ssize_t held = packed < 0 ? -1 : offset_of(array, "memory"), owner = held < 0 ? -1 : offset_of(memory, "owner");
    if (owner < 0)
        return NULL;
    sig_offset = sig;
    packed_offset = packed;
    memory_offset = held;
    owner_offset = owner;
    array_type = (PyTypeObject *)Py_NewRef(array);
    memory_type = (PyTypeObject *)Py_NewRef(memory);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"attach", attach, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "ruda.launch._launcher", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__launcher(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    server_name = PyUnicode_InternFromString("server");
    no_bindings = PyTuple_New(0);
    if (server_name == NULL || no_bindings == NULL || PyModule_AddType(module, &run_type) < 0 ||
        PyModule_AddType(module, &launcher_type) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
