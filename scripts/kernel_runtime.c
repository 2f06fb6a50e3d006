/* What compiled kernels call, other than the C library: arrays and lists, which they create, and
   functions of mathematics. The layout of Info is that of the compiler, whose code counts
   references itself. */

#include <stddef.h>
#include <stdint.h>

void *malloc(size_t);
void *realloc(void *, size_t);
void free(void *);
double ldexp(double, int);
double frexp(double, int *);

typedef struct {
    size_t count;
    void (*destroy)(void *, size_t, void *);
    void *about;
    void *data;
    size_t size;
    void *allocator;
} Info;

void *NRT_Allocate(size_t size) { return malloc(size); }

void NRT_Free(void *memory) { free(memory); }

Info *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    char *memory = malloc(sizeof(Info) + size + align);
    if (!memory) return NULL;
    uintptr_t end = (uintptr_t)(memory + sizeof(Info)) + align - 1;
    Info *info = (Info *)memory;
    *info = (Info){1, NULL, NULL, (void *)(align ? end - end % align : end + 1), size, NULL};
    return info;
}

Info *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }

void NRT_MemInfo_call_dtor(Info *info) {
    if (info->destroy) info->destroy(info->data, info->size, info->about);
    free(info);
}

/* Memory of a list, whose size changes; `about` destroys its items. */
static void destroy_list(void *data, size_t size, void *about) {
    if (about) ((void (*)(void *, size_t, void *))about)(data, size, NULL);
    free(data);
}

Info *NRT_MemInfo_new_varsize_dtor(size_t size, void (*destroy)(void *, size_t, void *)) {
    Info *info = malloc(sizeof(Info));
    void *data = malloc(size);
    if (!info || !data) {
        free(info);
        free(data);
        return NULL;
    }
    *info = (Info){1, destroy_list, (void *)destroy, data, size, NULL};
    return info;
}

void *NRT_MemInfo_varsize_realloc(Info *info, size_t size) {
    void *data = realloc(info->data, size);
    if (!data) return NULL;
    info->data = data;
    info->size = size;
    return data;
}

/* Strides of an array in C order in another shape; arrays in other orders are refused. */
int numba_attempt_nocopy_reshape(intptr_t n_dims, const intptr_t *dims, const intptr_t *strides,
                                 intptr_t n_new, const intptr_t *new_dims, intptr_t *new_strides,
                                 intptr_t itemsize, int is_fortran) {
    intptr_t step = itemsize;
    for (intptr_t i = n_dims - 1; i >= 0; step *= dims[i--])
        if (dims[i] > 1 && strides[i] != step) return 0;
    if (is_fortran) return 0;
    step = itemsize;
    for (intptr_t i = n_new - 1; i >= 0; step *= new_dims[i--]) new_strides[i] = step;
    return 1;
}

/* Gives back an array that Python has had. */
void workloadkit_release(Info *info) {
    if (__atomic_sub_fetch(&info->count, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(info);
}

double numba_ldexp(double x, int power) { return ldexp(x, power); }

double numba_frexp(double x, int *power) {
    *power = 0;
    return frexp(x, power);
}
