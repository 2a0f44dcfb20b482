// SPDX-License-Identifier: MIT

package tun

// Sum is what main.go times: what sums the packets that the tunnel coalesces.
var Sum = checksum
