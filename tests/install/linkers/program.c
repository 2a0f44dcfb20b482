/* SPDX-License-Identifier: MIT */
/* Runs the checks of its own sites, or of the sites in a shared object. */
#include <stdbool.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C"
#endif
    int
    check_sites(bool has_dead, bool folded);

int main(int count, char **arguments) {
    return check_sites(count > 1 && atoi(arguments[1]), count > 2 && atoi(arguments[2]));
}
