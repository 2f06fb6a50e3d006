/* What compiled kernels call beside the C library: arrays that they create, and two functions of
   mathematics. The layout of Info is that of the compiler, whose code counts references itself. */

#include <stddef.h>
#include <stdint.h>

void *malloc(size_t);
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

/* Gives back an array that Python has had. */
void workloadkit_release(Info *info) {
    if (__atomic_sub_fetch(&info->count, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(info);
}

double numba_ldexp(double x, int power) { return ldexp(x, power); }

double numba_frexp(double x, int *power) {
    *power = 0;
    return frexp(x, power);
}
