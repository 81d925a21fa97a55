import { markInBackground } from '../../core/lifetime/background-marking.ts'
import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'

/** Bytes of dropped tables that may wait for V8's next collection. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024
/** Time until the first look whether a collection came, and the longest one, ms. */
const FIRST_LOOK_MS = 100
const LONGEST_LOOK_MS = 60_000

/** Bytes of dropped tables of this thread that V8 has not collected. */
let waitingBytes = 0
/** A weak reference would keep its table through a marking that it is looked at in. */
const collected = new FinalizationRegistry<number>((bytes) => {
  waitingBytes -= bytes
})
/** Bytes dropped since the last marking. */
let sinceBytes = 0
let look: NodeJS.Timeout | undefined

/**
 * Lets V8 collect the memory of a dropped table in the calling thread. A table's memory is shared, and is freed
 * when every thread has collected the objects that refer to it. V8 does not count shared memory, so a quiet
 * thread would hold retired versions for hours. It is made to mark; a marking that has begun before a drop keeps the
 * table, so what is still there later gets another one. Every thread that could read the table calls this.
 */
export function reclaimTable(memory: WasmMemory): void {
  const bytes = memory.buffer.byteLength
  collected.register(memory, bytes)
  waitingBytes += bytes
  sinceBytes += bytes
  if (sinceBytes < MOST_WAITING_BYTES) return
  sinceBytes = 0
  markInBackground()
  if (look === undefined) lookAgain(FIRST_LOOK_MS)
}

/** Marks again while too much waits, less and less often. */
function lookAgain(afterMs: number): void {
  look = setTimeout(() => {
    look = undefined
    if (waitingBytes < MOST_WAITING_BYTES) return
    markInBackground()
    lookAgain(Math.min(2 * afterMs, LONGEST_LOOK_MS))
  }, afterMs).unref()
}
