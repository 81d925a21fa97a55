import {
  HEADER,
  ownerOf,
  PRODUCER,
  SLOT,
  SLOT_TIME,
  STATE,
  stateOf,
  WORKER,
  withState,
} from './layout.ts'
import { lock, unlock } from './lock.ts'
import type { QueueMemory } from './memory.ts'
import { Order } from './order.ts'

/** Waiting requests that may share a batch, earliest deadline first. */
export interface WaitingBatch {
  count: number
  readonly slots: Int32Array
  readonly items: Int32Array
  readonly deadlines: Float64Array
  readonly arrivals: Float64Array
}

/** One worker's side of a queue. */
export class WorkerSide {
  readonly memory: QueueMemory
  readonly worker: number
  private readonly words: Int32Array
  /** Index of the first number of this worker's row. */
  private readonly row: number
  private readonly order: Order
  private readonly view: WaitingBatch

  /** `viewed`: the most requests that `waiting` shows. */
  constructor(memory: QueueMemory, worker: number, viewed: number) {
    this.memory = memory
    this.worker = worker
    this.words = memory.words
    this.row = memory.workerAt(worker)
    this.order = new Order(memory)
    this.view = {
      count: 0,
      slots: new Int32Array(viewed),
      items: new Int32Array(viewed),
      deadlines: new Float64Array(viewed),
      arrivals: new Float64Array(viewed),
    }
  }

  /**
   * Runs `decide` under the lock with the requests that may share the next batch: those with the bucket and
   * the group of the first one. `decide` must not throw and takes slots by `take` and `shed`.
   */
  withWaiting(decide: (waiting: WaitingBatch) => void): void {
    lock(this.words, this.worker)
    this.order.drain()
    this.order.trim()
    this.look()
    decide(this.view)
    unlock(this.words)
  }

  /** Takes a waiting request. False when its producer gave it up in between. */
  take(slot: number, nowMs: number): boolean {
    if (!this.leaveQueue(slot, STATE.taken, this.worker)) return false
    const at = this.memory.slotAt(slot)
    this.memory.numbers[at / 2 + SLOT_TIME.takenAt] = nowMs
    return true
  }

  /** Ends a waiting request that cannot be in time. The producer is rung by `ring`. */
  shed(slot: number): boolean {
    if (!this.leaveQueue(slot, STATE.shed, this.worker)) return false
    this.count(WORKER.shed, 1)
    markDone(this.memory, slot)
    return true
  }

  /** Begins to write the outputs of a taken request. False when it was taken away from this worker. */
  beginWrite(slot: number): boolean {
    return this.move(slot, STATE.taken, STATE.writing)
  }

  /** Ends a request whose outputs, or failure, are written. */
  endWrite(slot: number, state: typeof STATE.done | typeof STATE.failed): void {
    if (this.move(slot, STATE.writing, state)) markDone(this.memory, slot)
  }

  /** Wakes the producers of these slots, each once. */
  ring(slots: readonly number[]): void {
    let rung = 0
    for (const slot of slots) {
      const producer = this.words[this.memory.slotAt(slot) + SLOT.producer]!
      if ((rung & (1 << producer)) !== 0) continue
      rung |= 1 << producer
      ringProducer(this.memory, producer)
    }
  }

  /** The bell's value; read it before a look at the queue, and pass it to `sleep`. */
  bell(): number {
    return Atomics.load(this.words, HEADER.bell)
  }

  /** Blocks until the bell rings, or for `forMs`. Returns at once when it has rung since `seen`. */
  sleep(seen: number, forMs: number): void {
    Atomics.add(this.words, HEADER.sleeping, 1)
    const ended = Atomics.wait(this.words, HEADER.bell, seen, forMs)
    // Who wakes a worker has counted it as awake.
    if (ended !== 'ok') Atomics.sub(this.words, HEADER.sleeping, 1)
  }

  /** As `sleep`, without blocking the thread. */
  async rest(seen: number, forMs: number): Promise<void> {
    Atomics.add(this.words, HEADER.sleeping, 1)
    const wait = Atomics.waitAsync(this.words, HEADER.bell, seen, forMs)
    const ended = wait.async ? await wait.value : wait.value
    if (ended !== 'ok') Atomics.sub(this.words, HEADER.sleeping, 1)
  }

  /** Adds to a counter of this worker's row. */
  count(counter: number, value: number): void {
    const { numbers } = this.memory
    const index = this.row + counter
    numbers[index] = numbers[index]! + value
  }

  private leaveQueue(slot: number, state: number, owner: number): boolean {
    const items = this.words[this.memory.slotAt(slot) + SLOT.items]!
    if (!this.move(slot, STATE.ready, state, owner)) return false
    Atomics.sub(this.words, HEADER.waiting, 1)
    Atomics.sub(this.words, HEADER.waitingItems, items)
    return true
  }

  private move(slot: number, from: number, to: number, owner = this.worker): boolean {
    const at = this.memory.slotAt(slot)
    const state = Atomics.load(this.words, at)
    if (stateOf(state) !== from) return false
    if (from !== STATE.ready && ownerOf(state) !== this.worker) return false
    return Atomics.compareExchange(this.words, at, state, withState(state, to, owner)) === state
  }

  private look(): void {
    const { view, order, words } = this
    const { numbers } = this.memory
    view.count = 0
    let bucket = 0
    let group = 0
    for (let position = order.start; position < order.end; position++) {
      const slot = order.slotOf(position)
      if (slot < 0) continue
      const at = this.memory.slotAt(slot)
      if (view.count === 0) {
        bucket = words[at + SLOT.bucket]!
        group = words[at + SLOT.group]!
      } else if (words[at + SLOT.bucket] !== bucket || words[at + SLOT.group] !== group) continue
      view.slots[view.count] = slot
      view.items[view.count] = words[at + SLOT.items]!
      view.deadlines[view.count] = numbers[at / 2 + SLOT_TIME.deadline]!
      view.arrivals[view.count] = numbers[at / 2 + SLOT_TIME.arrival]!
      if (++view.count === view.slots.length) return
    }
  }
}

/** Writes the error of a request whose slot the caller holds. `code` is of `numberOfCode`. */
export function writeFailure(
  memory: QueueMemory,
  slot: number,
  { code, message }: { readonly code: number; readonly message: string },
): void {
  const at = memory.slotAt(slot)
  const text = Buffer.from(message, 'utf8').subarray(0, memory.outputBytes)
  memory.bytes.set(text, memory.outputAt(slot))
  memory.words[at + SLOT.outputLength] = text.length
  memory.words[at + SLOT.code] = code
}

/** Reports the end of a request to its producer, or frees its slot when that producer ended. */
export function markDone(memory: QueueMemory, slot: number): void {
  const { words } = memory
  const at = memory.slotAt(slot)
  const producer = words[at + SLOT.producer]!
  if (Atomics.load(words, memory.producerAt(producer) + PRODUCER.dead) !== 0) {
    Atomics.store(words, at, withState(words[at]!, STATE.free, 0))
    return
  }
  Atomics.or(words, memory.doneAt(producer) + (slot >>> 5), 1 << (slot & 31))
}

/** Wakes a producer if it sleeps. */
export function ringProducer(memory: QueueMemory, producer: number): void {
  const at = memory.producerAt(producer)
  Atomics.add(memory.words, at + PRODUCER.bell, 1)
  if (Atomics.load(memory.words, at + PRODUCER.armed) !== 0) {
    Atomics.notify(memory.words, at + PRODUCER.bell)
  }
}
