/**
 * Layout of the shared memory of one model's queue. All numbers are in the byte order of the machine: the
 * memory never leaves the process.
 *
 *     0        header       64 words (int32), see below
 *     256      estimates    16 numbers (float64): the latency model as the workers publish it
 *     384      workers      64 rows of 128 numbers (float64), each written by one worker
 *     +65536   producers    32 rows of 32 words: bell, armed, dead; then counters in float64
 *     +4096    ready bits   a bit a slot: submitted, but not in the order yet
 *              done bits    a bit a slot for each producer: ended, but not collected yet
 *              order        4 x capacity entries of (slot, state, key): earliest key first
 *              slots        capacity x 32 words: state, sizes, times
 *              inputs       capacity x inputBytes
 *              outputs      capacity x outputBytes
 *
 * State of a slot: one word, bits 0-3 state, 4-11 owner, 12-31 generation.
 *
 *     FREE --producer--> FILLING --> READY --worker--> TAKEN --> WRITING --> DONE | FAILED --producer--> FREE
 *                                      |  \--worker--> SHED ---------------------------------producer--> FREE
 *                                      \-----producer (deadline, cancel)-----------------------------> FREE
 *     TAKEN | WRITING --supervisor (worker lost)--> READY | FAILED
 *
 * The states are the truth. Ready bits, done bits, order and counts are derived from them, and
 * `repair.ts` builds them again when the holder of the lock ended. Each change of a state is one
 * compare-and-exchange, so two sides never both win; the generation grows when a slot is claimed, so an
 * entry of the order that names an earlier use is recognised.
 */

/** Format of the memory. */
export const LAYOUT_VERSION = 3

/** Words of the header. */
export const HEADER = {
  version: 0,
  capacity: 1,
  inputBytes: 2,
  outputBytes: 3,
  /** 0, or 1 + the number of the holder. */
  lock: 4,
  /** Threads that wait for the lock. */
  contended: 5,
  /** Rises with every submission; workers sleep on it. */
  bell: 6,
  /** Workers that sleep. */
  sleeping: 7,
  /** 1: no further submissions; 2: workers end at once. */
  closed: 8,
  orderStart: 9,
  orderEnd: 10,
  /** Items of the requests that wait. */
  waitingItems: 12,
  /** Requests that wait. */
  waiting: 13,
  /** Items submitted since the start, wrapping. */
  arrivedItems: 14,
  /** Last number of a group that runs apart. */
  group: 15,
  /** Workers that serve the queue. */
  workers: 16,
  /** 1: the workers release the model after their run, until this is 0 again. */
  away: 17,
} as const

/** Numbers of the latency model. */
export const ESTIMATE = {
  fixedMs: 0,
  itemMs: 1,
  ratio: 2,
  largest: 3,
  lastRunAt: 4,
  /** Largest batch of the rule, items. */
  limit: 5,
  /** How the model was asked for: number of gaps between batches, their mean and deviation, the latest start. */
  gaps: 6,
  meanGapMs: 7,
  gapDeviationMs: 8,
  lastAskedAt: 9,
} as const

/** Numbers of a worker's row. */
export const WORKER = {
  /** Monotonic ms; 0 while no run is under way. */
  runStartedAt: 0,
  /** Time that the run is expected to take, ms. */
  expectedMs: 1,
  batches: 2,
  items: 3,
  runMs: 4,
  queueMs: 5,
  answered: 6,
  failed: 7,
  shed: 8,
  /** Five counters by reason. */
  dispatched: 9,
  /** 1: the worker ends after its run. */
  stop: 14,
  /** 1: the worker looks at the queue. */
  serving: 15,
  /** Start of the latest run, monotonic ms. */
  lastStartedAt: 16,
  /** 1: the model is in the memory of the worker. */
  resident: 17,
  /** Loads after the first one, and their time in ms. */
  loads: 18,
  loadMs: 19,
  /** Answers by their response time, one counter a bucket (`response-times.ts`). */
  responses: 20,
  /** Requests by their wait, and batches by the time of their run (`TIME_BUCKETS`). */
  queueTimes: 52,
  runTimes: 73,
  /** Batches by their items (`ITEM_BUCKETS`). */
  batchSizes: 94,
  /** Requests that were given to the model, each time counted; and those whose first time it was. */
  executions: 110,
  firstExecutions: 111,
} as const

/** Words of a producer's row. */
export const PRODUCER = { bell: 0, armed: 1, dead: 2 } as const
/** Counters of a producer's row, in float64 from its start. */
export const PRODUCER_COUNT = {
  full: 2,
  expired: 3,
  cancelled: 4,
  hedged: 5,
  /** Hedged requests whose second worker answered first. */
  hedgeWins: 6,
  /** Requests that ended and were not cancelled, and those of them that were answered within the goal. */
  ended: 7,
  inTime: 8,
} as const

/** Words of a slot. */
export const SLOT = {
  state: 0,
  producer: 1,
  items: 2,
  bucket: 3,
  /** Requests of a group run together and with no others; 0 is no group. */
  group: 4,
  /** Attempts whose worker was lost. */
  attempt: 5,
  /** Bytes of outputs, or of the message of a failure. */
  outputLength: 6,
  batchItems: 7,
  /** Number of the error code of a failure. */
  code: 8,
  /** 1: it is the second try of a hedged request. */
  isCopy: 9,
} as const
/** Times of a slot, in float64 from its start; ms. */
export const SLOT_TIME = { deadline: 8, key: 9, arrival: 10, takenAt: 11, runMs: 12 } as const

export const WORKER_ROWS = 64
export const PRODUCER_ROWS = 32
export const WORKER_NUMBERS = 128
export const PRODUCER_WORDS = 32
export const SLOT_WORDS = 32
/** Words of an entry of the order; its key is the float64 at word 2. */
export const ORDER_WORDS = 4
/** Entries of the order for each slot: entries of requests that no longer wait stay for a while. */
export const ORDER_SHARE = 4

/** States of a slot. */
export const STATE = {
  free: 0,
  filling: 1,
  ready: 2,
  taken: 3,
  writing: 4,
  done: 5,
  failed: 6,
  shed: 7,
} as const

export const stateOf = (word: number): number => word & 15
export const ownerOf = (word: number): number => (word >>> 4) & 255
/** The word of another state and owner in the same generation. */
export const withState = (word: number, state: number, owner: number): number =>
  (word & ~4095) | (owner << 4) | state
/** The word of the next generation. */
export const nextGeneration = (word: number, state: number, owner: number): number =>
  ((word & ~4095) + 4096) | (owner << 4) | state

/** Sizes that a queue is created with. */
export interface QueueShape {
  readonly capacity: number
  /** Bytes of a slot, multiples of 8. */
  readonly inputBytes: number
  readonly outputBytes: number
}

/** Byte offsets of the parts, and the length of the whole. */
export function offsetsOf({ capacity, inputBytes, outputBytes }: QueueShape) {
  const bitWords = Math.ceil(capacity / 32)
  const estimates = 256
  const workers = estimates + 16 * 8
  const producers = workers + WORKER_ROWS * WORKER_NUMBERS * 8
  const ready = producers + PRODUCER_ROWS * PRODUCER_WORDS * 4
  const done = ready + bitWords * 4
  const order = align(done + PRODUCER_ROWS * bitWords * 4, 64)
  const slots = align(order + capacity * ORDER_SHARE * ORDER_WORDS * 4, 64)
  const inputs = slots + capacity * SLOT_WORDS * 4
  const outputs = inputs + capacity * inputBytes
  const length = outputs + capacity * outputBytes
  return {
    bitWords,
    estimates,
    workers,
    producers,
    ready,
    done,
    order,
    slots,
    inputs,
    outputs,
    length,
  }
}

const align = (bytes: number, to: number): number => Math.ceil(bytes / to) * to
