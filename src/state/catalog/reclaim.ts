import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'

/** Bytes of dropped tables that may wait for V8's next collection. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024
/** Above V8's limit for memory outside its heap, which makes it start a collection. Never touched, so never resident. */
const PRESSURE_BYTES = 128 * 1024 * 1024

/** Of this thread. */
let waiting = 0

/**
 * Lets V8 collect the memory of a dropped table in the calling thread. A table's memory is shared, and is freed
 * when every thread has collected the objects that refer to it. V8 does not count shared memory, so a quiet
 * thread would hold retired versions for hours. An array buffer is counted: a large one makes V8 mark in the
 * background, without a long pause. Every thread that could read the table calls this.
 */
export function reclaimTable(memory: WasmMemory): void {
  waiting += memory.buffer.byteLength
  if (waiting < MOST_WAITING_BYTES) return
  waiting = 0
  try {
    new ArrayBuffer(PRESSURE_BYTES)
  } catch {
    // Where there is no address space left, V8 has collected before it failed.
  }
}
