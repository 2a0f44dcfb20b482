// SPDX-License-Identifier: MIT

// Runs the peers in Go: answers questions as ../../CONTRACT.md describes.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	mixCalls      = 1 << 17
	hugePageBytes = 1 << 21
	adviseHuge    = 14 // MADV_HUGEPAGE
	canaryTurns   = 2000
	besideTurns   = 1000
)

type call struct {
	offset, to, size uint32
}

type question struct {
	mode         string
	one          call
	first, count int
}

// seed is a type of the initial sum that a peer accepts.
type seed interface{ uint16 | uint64 }

// peer is a function on packets: it takes and returns sums as numbers read in network order.
type peer[S seed] struct {
	name  string
	flags string
	sum   func(packet []byte, initial S) uint16
}

// anyPeer is a peer with any type of the initial sum.
type anyPeer interface {
	row() (name, flags string)
	one(packet []byte, initial uint16) uint16
	run(q *question, first, count int) uint16
}

var (
	workFolder string
	source     []byte
	mixes      = map[string][]call{}
	peers      = []anyPeer{peer[uint16]{"floor", "floor", floor}}
	notes      [][2]string
	zero       int // always 0, but the compiler must not assume that
	kept       uint16
)

// add adds a peer; the file that build makes calls it.
func add[S seed](name, version string, sum func(packet []byte, initial S) uint16) {
	peers = append(peers, peer[S]{name, "", sum})
	notes = append(notes, [2]string{"version-" + name, version})
}

// floor does nothing; its result depends on the address, as the latency mode needs.
//
//go:noinline
func floor(packet []byte, initial uint16) uint16 {
	return uint16(*(*uintptr)(unsafe.Pointer(&packet))) + initial
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// --- Files of the driver ---

func getMemory(size int) []byte {
	size = (size + hugePageBytes - 1) &^ (hugePageBytes - 1)
	memory, err := syscall.Mmap(-1, 0, size+hugePageBytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		fail(err)
	}
	start := -int(uintptr(unsafe.Pointer(&memory[0]))) & (hugePageBytes - 1)
	memory = memory[start : start+size]
	syscall.Madvise(memory, adviseHuge)
	return memory
}

func readData() {
	data, err := os.ReadFile(filepath.Join(workFolder, "data"))
	if err != nil {
		fail(err)
	}
	source = getMemory(len(data))[:len(data)]
	copy(source, data)
}

func findMix(name string) []call {
	if calls, ok := mixes[name]; ok {
		return calls
	}
	bytes, err := os.ReadFile(filepath.Join(workFolder, "mix-"+name))
	if err != nil || len(bytes) != mixCalls*12 {
		return nil
	}
	calls := make([]call, mixCalls)
	for i := range calls {
		row := bytes[i*12:]
		calls[i] = call{binary.LittleEndian.Uint32(row), binary.LittleEndian.Uint32(row[4:]),
			binary.LittleEndian.Uint32(row[8:])}
	}
	mixes[name] = calls
	return calls
}

// --- Calls ---

func (p peer[S]) row() (string, string) { return p.name, p.flags }

func (p peer[S]) one(packet []byte, initial uint16) uint16 { return p.sum(packet, S(initial)) }

func (p peer[S]) run(q *question, first, count int) uint16 {
	switch q.mode {
	case "hot":
		return p.runHot(q.one, count)
	case "latency":
		return p.runLatency(q.one, count)
	}
	if strings.HasPrefix(q.mode, "beside") {
		return p.runBeside(q, first, count)
	}
	return p.runMix(mixes[q.mode], first, count)
}

func (p peer[S]) runHot(one call, count int) (total uint16) {
	packet := source[one.offset:][:one.size]
	sum := p.sum
	for ; count > 0; count-- {
		total += sum(packet, 0)
	}
	return total
}

func (p peer[S]) runLatency(one call, count int) (last uint16) {
	data, mask, size, sum := source[one.offset:], zero, int(one.size), p.sum
	for ; count > 0; count-- {
		start := int(last) & mask
		last = sum(data[start:start+size], 0)
	}
	return last
}

func (p peer[S]) runMix(calls []call, first, count int) (total uint16) {
	data, sum := source, p.sum
	for i := first; i < first+count; i++ {
		one := &calls[i%mixCalls]
		total += sum(data[one.offset:one.offset+one.size], 0)
	}
	return total
}

func mixName(mode string) string { return strings.TrimPrefix(mode, "beside-") }

// workBeside does the work between two calls: each multiplication waits for the previous one.
//
//go:noinline
func workBeside(x uint64) uint64 {
	for i := 0; i < besideTurns; i++ {
		x = x*0x5851f42d4c957f2d + 1
	}
	return x
}

func (p peer[S]) runBeside(q *question, first, count int) (total uint16) {
	data, sum, one, work := source, p.sum, &q.one, uint64(1)
	calls := mixes[mixName(q.mode)]
	for i := first; i < first+count; i++ {
		if calls != nil {
			one = &calls[i%mixCalls]
		}
		total += sum(data[one.offset:one.offset+one.size], 0)
		work = workBeside(work)
	}
	return total + uint16(work)
}

// --- list ---

func list() {
	for _, p := range peers {
		name, flags := p.row()
		fmt.Println(strings.TrimSpace("function " + name + " sum " + flags))
	}
	fmt.Println("note compiler", runtime.Version())
	fmt.Println("note beside", besideTurns, "multiplications")
	for _, note := range notes {
		fmt.Println("note", note[0], note[1])
	}
	fmt.Println("end")
}

// --- verify ---

func fold(sum uint32) uint16 {
	sum = sum&0xffff + sum>>16
	return uint16(sum + sum>>16)
}

func verify(p anyPeer) string {
	file, err := os.Open(filepath.Join(workFolder, "vectors"))
	if err != nil {
		fail(err)
	}
	defer file.Close()
	vectors := bufio.NewScanner(file)
	for vectors.Scan() {
		var offset, to, size int
		var seed, should uint32
		if _, err := fmt.Sscan(vectors.Text(), &offset, &to, &size, &seed, &should); err != nil {
			fail(err)
		}
		sum := p.one(source[offset:offset+size], bits.ReverseBytes16(fold(seed)))
		if uint32(bits.ReverseBytes16(sum))%0xffff != should%0xffff {
			return fmt.Sprintf("wrong %d wrong sum at offset %d, seed %d", size, offset, seed)
		}
	}
	return "right"
}

// --- time ---

//go:noinline
func multiply(a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	for i := 0; i < canaryTurns; i++ {
		a = a*0x9e3779b97f4a7c15 + 1
		b = b*0xbf58476d1ce4e5b9 + 3
		c = c*0x94d049bb133111eb + 5
		d = d*0xd6e8feb86659fd93 + 7
	}
	return a, b, c, d
}

func canary() int64 {
	start := time.Now()
	multiply(1, 2, 3, 4)
	return time.Since(start).Nanoseconds()
}

func takeTime(p anyPeer, q *question) string {
	if int(q.one.offset)+int(q.one.size) > len(source) {
		return "error outside the data"
	}
	mixed := q.mode != "hot" && q.mode != "latency" && q.mode != "beside"
	if mixed && findMix(mixName(q.mode)) == nil {
		return "error no mode " + q.mode
	}
	warmUp := q.count / 4
	first := q.first%mixCalls + mixCalls*(1+warmUp/mixCalls)
	kept = p.run(q, first-warmUp, warmUp)
	before := canary()
	start := time.Now()
	kept = p.run(q, first, q.count)
	took := time.Since(start).Nanoseconds()
	return fmt.Sprintln(took, before, canary())
}

// --- Questions ---

func find(name string) anyPeer {
	for _, p := range peers {
		if own, _ := p.row(); own == name {
			return p
		}
	}
	return nil
}

func answer(line string) string {
	words := strings.Fields(line)
	if len(words) == 1 && words[0] == "list" {
		list()
		return ""
	}
	if len(words) < 2 {
		return "error what?"
	}
	p := find(words[1])
	if p == nil {
		return "error no function " + words[1]
	}
	if len(words) == 2 && words[0] == "verify" {
		return verify(p)
	}
	var q question
	_, err := fmt.Sscan(strings.Join(words[2:], " "), &q.mode, &q.one.offset, &q.one.to,
		&q.one.size, &q.first, &q.count)
	if len(words) != 8 || words[0] != "time" || err != nil {
		return "error what?"
	}
	return takeTime(p, &q)
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: run WORK"))
	}
	runtime.LockOSThread()
	workFolder = os.Args[1]
	readData()
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		if said := strings.TrimSpace(answer(questions.Text())); said != "" {
			fmt.Println(said)
		}
	}
}
