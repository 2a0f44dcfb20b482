// SPDX-License-Identifier: MIT

package checksum

// Sum is what main.go times.
var Sum = Checksum
