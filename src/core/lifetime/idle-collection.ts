import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** Time between two looks at a thread, ms. */
const LOOK_EVERY_MS = 5_000
/** A thread that works for less of its time is idle. */
const IDLE_UTILIZATION = 0.1
/** Growth since the last collection that is worth another one. */
const WORTH_BYTES = 16 * 1024 * 1024
/** A heap with more in use is not collected: it would stop the thread for longer than a client may wait. */
const MOST_USED_BYTES = 64 * 1024 * 1024

/** What is known of a thread. */
export interface IdleFacts {
  /** Share of the time since the last look in which it worked. */
  readonly utilization: number
  /** Bytes of its heap that are in use, or were when it was last collected. */
  readonly usedBytes: number
  /** Bytes that its heap and its buffers hold. */
  readonly heldBytes: number
  /** The same after its last collection. */
  readonly heldAfterBytes: number
}

/** Whether the memory of a thread is collected now. */
export function decideCollection(facts: IdleFacts): 'collect' | 'busy' | 'too-large' | 'not-worth' {
  const { utilization, usedBytes, heldBytes, heldAfterBytes } = facts
  if (heldBytes - heldAfterBytes < WORTH_BYTES) return 'not-worth'
  if (utilization >= IDLE_UTILIZATION) return 'busy'
  return usedBytes > MOST_USED_BYTES ? 'too-large' : 'collect'
}

/** Holders of the collection of this thread. */
let holders = 0
let timer: NodeJS.Timeout | undefined
let heldAfterBytes = 0
let before = performance.eventLoopUtilization()

/**
 * Collects this thread's garbage while it is idle, until what it returns is called by each holder. V8 collects when it
 * needs memory: a server that many clients have left would keep theirs, because it does nothing that needs any.
 */
export function collectWhenIdle(): () => void {
  holders += 1
  if (holders === 1) {
    heldAfterBytes = heldBytes()
    before = performance.eventLoopUtilization()
    timer = setInterval(look, LOOK_EVERY_MS).unref()
  }
  let isHeld = true
  return () => {
    if (isHeld) holders -= 1
    isHeld = false
    if (holders === 0) clearInterval(timer)
  }
}

function look(): void {
  const now = performance.eventLoopUtilization()
  const { utilization } = performance.eventLoopUtilization(now, before)
  before = now
  const { used_heap_size: usedBytes } = getHeapStatistics()
  const decision = decideCollection({
    ...{ utilization, usedBytes, heldAfterBytes },
    heldBytes: heldBytes(),
  })
  if (decision !== 'collect') return
  collect()
  heldAfterBytes = heldBytes()
}

function heldBytes(): number {
  const { total_heap_size: heap, external_memory: external } = getHeapStatistics()
  return heap + external
}

type Collector = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

let collector: Collector | undefined

/** Gives free pages back to the system, too, which a usual collection keeps. */
function collect(): void {
  if (collector === undefined) {
    setFlagsFromString('--expose-gc')
    const { runInNewContext } = process.getBuiltinModule('node:vm')
    collector = runInNewContext('gc') as Collector
  }
  collector({ type: 'major', flavor: 'last-resort' })
}
