import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { markInBackground } from './background-marking.ts'

/** Time between two looks at a thread, ms. */
const LOOK_EVERY_MS = 5_000
/** A thread that works for less of its time is idle. */
const IDLE_UTILIZATION = 0.1
/** Growth since the last collection that is worth another one. */
const WORTH_BYTES = 16 * 1024 * 1024
/** A heap with more that lives is not collected: it would stop the thread for longer than a client may wait. */
const MOST_LIVE_BYTES = 64 * 1024 * 1024
/** Collections in the background that show what lives: the first may have begun before the last clients left. */
const MOST_MARKINGS = 2

/** What is known of a thread. */
export interface IdleFacts {
  /** Share of the time since the last look in which it worked. */
  readonly utilization: number
  /** Bytes of its heap that were in use after the last collection of all of it: what is in use now may be garbage. */
  readonly liveBytes: number
  /** Bytes that its heap and its buffers hold. */
  readonly heldBytes: number
  /** The same after its last collection. */
  readonly heldAfterBytes: number
  /** Collections in the background since it was last busy. */
  readonly markings: number
}

/** What is done with the memory of a thread; `mark` collects in the background, which gives less back. */
export type Collection = 'collect' | 'mark' | 'busy' | 'too-large' | 'not-worth'

/** Whether the memory of a thread is collected now, and how. */
export function decideCollection(facts: IdleFacts): Collection {
  const { utilization, liveBytes, heldBytes, heldAfterBytes, markings } = facts
  if (heldBytes - heldAfterBytes < WORTH_BYTES) return 'not-worth'
  if (utilization >= IDLE_UTILIZATION) return 'busy'
  if (liveBytes <= MOST_LIVE_BYTES) return 'collect'
  return markings < MOST_MARKINGS ? 'mark' : 'too-large'
}

/** Holders of the collection of this thread. */
let holders = 0
let timer: NodeJS.Timeout | undefined
let heldAfterBytes = 0
let liveBytes = 0
let markings = 0
let before = performance.eventLoopUtilization()

/**
 * Collects this thread's garbage while it is idle, until what it returns is called by each holder. V8 collects when it
 * needs memory: a server that many clients have left would keep theirs, because it does nothing that needs any. `lookEveryMs`: of the
 * first holder.
 */
export function collectWhenIdle(lookEveryMs = LOOK_EVERY_MS): () => void {
  holders += 1
  if (holders === 1) {
    heldAfterBytes = heldBytes()
    liveBytes = usedBytes()
    collections.observe({ entryTypes: ['gc'] })
    before = performance.eventLoopUtilization()
    timer = setInterval(look, lookEveryMs).unref()
  }
  let isHeld = true
  return () => {
    if (isHeld) holders -= 1
    isHeld = false
    if (holders > 0) return
    clearInterval(timer)
    collections.disconnect()
  }
}

/** An entry of a collection; the types of Node.js do not know its `detail`. */
type CollectionEntry = PerformanceEntry & { readonly detail: NodeGCPerformanceDetail }

/** Collections of this thread, by V8 and by this module. */
const collections = new PerformanceObserver((list) => {
  const entries = list.getEntries() as CollectionEntry[]
  const { NODE_PERFORMANCE_GC_MAJOR: major } = constants
  if (entries.some(({ detail }) => detail.kind === major)) liveBytes = usedBytes()
})

function look(): void {
  const now = performance.eventLoopUtilization()
  const { utilization } = performance.eventLoopUtilization(now, before)
  before = now
  liveBytes = Math.min(liveBytes, usedBytes())
  const facts = { utilization, liveBytes, heldBytes: heldBytes(), heldAfterBytes, markings }
  take(decideCollection(facts))
}

function take(decision: Collection): void {
  if (decision === 'collect') collect()
  if (decision === 'mark') markInBackground()
  if (decision === 'collect' || decision === 'too-large') heldAfterBytes = heldBytes()
  if (decision === 'mark') markings += 1
  else if (decision !== 'not-worth') markings = 0
}

function usedBytes(): number {
  return getHeapStatistics().used_heap_size
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
