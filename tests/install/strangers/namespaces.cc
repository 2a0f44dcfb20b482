// SPDX-License-Identifier: MIT
// Operations and keys in namespaces: two of the same name are distinct.
#include <carry/patch.h>

#include "../linkers/expect.h"

namespace app {
CARRY_OP(int, route, int);
CARRY_KEY(tracing);
static int plain(int port) {
    return port;
}
CARRY_OP_DEFINE(route, plain);
CARRY_KEY_DEFINE(tracing, false);
} // namespace app

namespace other {
CARRY_OP(int, route, int);
CARRY_KEY(tracing);
static int negated(int port) {
    return -port;
}
CARRY_OP_DEFINE(route, negated);
CARRY_KEY_DEFINE(tracing, true);
} // namespace other

namespace app {
static int go(int port) {
    return carry_call(route)(port) + (carry_unlikely(tracing) ? 100 : 0);
}
static void negate(struct carry_patch *patch) {
    carry_set(patch, route, other::negated);
}
} // namespace app

namespace other {
static int go(int port) {
    return carry_call(route)(port) + (carry_unlikely(tracing) ? 100 : 0);
}
} // namespace other

int main() {
    struct carry_patch patch;
    EXPECT(app::go(3), 3);
    EXPECT(other::go(3), 97);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    carry_patch_begin(&patch);
    app::negate(&patch);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(app::go(3), -3);
    EXPECT(other::go(3), 97);
    return result();
}
