import { availableParallelism } from 'node:os'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { FairQueue } from '../../core/lifetime/fair-queue.ts'
import { currentTraceParent } from '../../core/tracing/tracer.ts'
import type { KeyClass } from '../../state/catalog/key-class.ts'
import {
  type SlotQueryReplyMessage,
  unpackSlotQueryReply,
} from '../../state/catalog/slot-query-message.ts'
import type { SlotQueryAnswer, SlotQueryRequest } from '../../state/port/slot-query.ts'
import type { RequestOwner } from '../port/request-owner.ts'
import type { SharedThread } from './shared-thread.ts'

/**
 * Sends requests of one reading thread to the slots, for state that cannot be read in place. Request ids
 * are unique within one reader only.
 */
export interface SlotQueryClient {
  /**
   * Resolves with the slot's reply, packed; rejects (SLOT_LOST, UNAVAILABLE, STORE_FAILED) when it has
   * none.
   */
  ask(slot: number, request: SlotQueryRequest): Promise<SlotQueryReplyMessage>
  /** The reply is not needed any more: its promise stays pending. */
  cancel(slot: number, id: number): void
  /** Takes back the buffer of a reply of the slot, which no one reads any more. */
  giveBack(slot: number, packed: Uint8Array<ArrayBuffer>): void
}

/** What a slot asker works with. */
export interface SlotAskerOptions {
  readonly slots: SlotQueryClient
  readonly clock: Clock
  readonly thread: SharedThread
  /** Slots that scan at once while the thread serves short requests. @default half of the processors */
  readonly mostScanning?: number
}

/** Terms of a request to a slot. */
export interface AskTerms {
  /** Monotonic time when it fails; infinite when the caller ends it. */
  readonly deadline: number
  readonly owner: RequestOwner | undefined
}

/** Sorts of requests to a slot. The stored rows of a top-k come in pages, as those of a scan do. */
type LaneKind = 'short' | 'scan' | 'stored'

/**
 * Requests of a sort that are sent to one slot and not answered yet; further ones wait here, in fair order.
 * The answer of a scan is thousands of entries.
 */
const MOST_IN_FLIGHT: Readonly<Record<LaneKind, number>> = { short: 16, scan: 1, stored: 1 }
/**
 * While the reading thread also serves short requests, a slot gets no scan for this many times as long as it took for the
 * last one, so that scans take a quarter of its time at most: on a machine whose processors are all taken, each further
 * thread that computes holds up the short requests (docs/decisions/fairness.md#what-a-client-waits-for).
 */
const REST_AFTER_SCAN = 3
/** Longest such rest: a slot that was stopped for seconds owes none for them. */
const MOST_REST_MS = 20

/** A request on its way to a slot. */
interface Asked {
  readonly request: SlotQueryRequest
  state: 'queued' | 'sent' | 'ended'
  /** Monotonic time when it was sent. */
  sentMs: number
  resolve(reply: SlotQueryReplyMessage): void
  reject(error: unknown): void
}

/** Requests of a sort to one slot. */
interface SlotLane {
  readonly slot: number
  readonly kind: LaneKind
  readonly queue: FairQueue<Asked>
  inFlight: number
  /** Whether it waits after a scan. */
  rests: boolean
}

/** Slot, state and version of rows that are asked for. */
export interface AskedRows {
  readonly slot: number
  readonly keyClass: KeyClass
  readonly version: number
  /** See `SlotQueryRequest`. */
  readonly bring: boolean
}

/** Rows asked of one slot in one turn. */
interface RowBatch extends AskedRows {
  readonly owner: RequestOwner | undefined
  deadline: number
  readonly keys: Uint8Array[]
  readonly waiting: {
    readonly from: number
    readonly count: number
    resolve(answers: readonly SlotQueryAnswer[]): void
    reject(error: unknown): void
  }[]
}

/**
 * Asks slots for spilled rows: all rows that a connection asks for in one turn of the event loop are sent
 * in one request for each slot, state and version. Each slot gets a few requests at a time, from every
 * connection in turn. A request whose connection is gone, or whose deadline has come, is taken back.
 */
export class LocalSlotAsker {
  private readonly slots: SlotQueryClient
  private readonly clock: Clock
  private readonly thread: SharedThread
  private readonly lanes = new Map<string, SlotLane>()
  /** The lanes of scans; the one that has scanned last comes last. */
  private readonly scanLanes: SlotLane[] = []
  /** Slots that scan or rest from a scan. */
  private scanning = 0
  private readonly mostScanning: number
  private batches: RowBatch[] = []
  private nextId = 1

  constructor(options: SlotAskerOptions) {
    this.slots = options.slots
    this.clock = options.clock
    this.thread = options.thread
    this.mostScanning = options.mostScanning ?? Math.max(1, availableParallelism() >> 1)
  }

  /** The slot's answers in the order of the keys. The caller keeps the deadline. */
  rows(
    asked: AskedRows,
    keys: readonly Uint8Array[],
    { owner, deadline }: AskTerms,
  ): Promise<readonly SlotQueryAnswer[]> {
    let batch = this.batches.find((one) => one.owner === owner && isSame(one, asked))
    if (batch === undefined) {
      batch = { ...asked, owner, deadline, keys: [], waiting: [] }
      this.batches.push(batch)
      if (this.batches.length === 1) setImmediate(() => this.flush())
    }
    batch.deadline = Math.max(batch.deadline, deadline)
    const { waiting, keys: all } = batch
    const from = all.length
    for (const key of keys) all.push(key)
    return new Promise((resolve, reject) => {
      waiting.push({ from, count: keys.length, resolve, reject })
    })
  }

  /**
   * Sends any other request, with a new id, and resolves with the packed reply. Throws DEADLINE_EXCEEDED, and the owner's error when the
   * connection is gone.
   */
  ask(
    slot: number,
    { deadline, owner }: AskTerms,
    request: (id: number) => SlotQueryRequest,
  ): Promise<SlotQueryReplyMessage> {
    if (owner?.gone !== undefined) return Promise.reject(owner.gone)
    const asking = request(this.nextId++)
    const trace = currentTraceParent()
    const message = trace === undefined ? asking : { ...asking, trace }
    const lane = this.laneOf(slot, laneKindOf(message))
    return new Promise((resolve, reject) => {
      const end = (finish: () => void): void => {
        if (asked.state === 'ended') return
        const wasSent = asked.state === 'sent'
        asked.state = 'ended'
        cancelTimer()
        stay?.()
        finish()
        if (!wasSent) return
        lane.inFlight -= 1
        if (lane.kind === 'scan') this.restAfter(lane, asked)
        else this.sendNext(lane)
      }
      const takeBack = (error: WeirError): void => {
        if (asked.state === 'sent') this.slots.cancel(slot, asked.request.id)
        end(() => reject(error))
      }
      const asked: Asked = {
        request: message,
        state: 'queued',
        sentMs: 0,
        resolve: (reply) => end(() => resolve(reply)),
        reject: (error) => end(() => reject(error)),
      }
      const cancelTimer = this.at(deadline, () => takeBack(tooLate()))
      const stay = owner?.onGone(() => takeBack(owner.gone!))
      lane.queue.push(owner, asked)
      this.sendNext(lane)
    })
  }

  /** Takes back the buffer of a reply of `ask`, which no one reads any more: the slot uses it again. */
  giveBack(slot: number, packed: Uint8Array<ArrayBuffer>): void {
    this.slots.giveBack(slot, packed)
  }

  private at(deadline: number, callback: () => void): Cancel {
    if (deadline === Number.POSITIVE_INFINITY) return () => {}
    return this.clock.after(Math.max(0, deadline - this.clock.monotonicMs()), callback)
  }

  private laneOf(slot: number, kind: LaneKind): SlotLane {
    const name = `${slot}/${kind}`
    let lane = this.lanes.get(name)
    if (lane === undefined) {
      lane = { slot, kind, queue: new FairQueue(), inFlight: 0, rests: false }
      this.lanes.set(name, lane)
      if (kind === 'scan') this.scanLanes.push(lane)
    }
    return lane
  }

  /** Lets a slot rest after a scan while the thread serves short requests, too. */
  private restAfter(lane: SlotLane, { sentMs }: Asked): void {
    const end = (): void => {
      lane.rests = false
      this.scanning -= 1
      this.scanLanes.push(...this.scanLanes.splice(this.scanLanes.indexOf(lane), 1))
      for (const each of [...this.scanLanes]) this.sendNext(each)
    }
    if (!this.thread.isShared()) {
      end()
      return
    }
    lane.rests = true
    const took = this.clock.monotonicMs() - sentMs
    this.clock.after(Math.min(REST_AFTER_SCAN * took, MOST_REST_MS), end)
  }

  private sendNext(lane: SlotLane): void {
    while (lane.inFlight < MOST_IN_FLIGHT[lane.kind] && !lane.rests) {
      if (lane.kind === 'scan' && !this.mayScan()) return
      const asked = lane.queue.shift()
      if (asked === undefined) return
      if (asked.state === 'ended') continue
      asked.state = 'sent'
      asked.sentMs = this.clock.monotonicMs()
      lane.inFlight += 1
      if (lane.kind === 'scan') this.scanning += 1
      this.slots.ask(lane.slot, asked.request).then(asked.resolve, asked.reject)
    }
  }

  private mayScan(): boolean {
    return this.scanning < this.mostScanning || !this.thread.isShared()
  }

  private flush(): void {
    const batches = this.batches
    this.batches = []
    for (const batch of batches) {
      this.send(batch).catch((error) => {
        for (const { reject } of batch.waiting) reject(error)
      })
    }
  }

  private async send(batch: RowBatch): Promise<void> {
    const { slot, keyClass, version, bring, keys, waiting } = batch
    const reply = await this.ask(slot, batch, (id) => ({
      kind: 'rows',
      id,
      operatorUid: keyClass.operatorUid,
      state: keyClass.state,
      version,
      keys,
      bring,
    }))
    const { answers } = unpackSlotQueryReply(reply)
    if (waiting.length === 1) waiting[0]!.resolve(answers)
    else for (const { from, count, resolve } of waiting) resolve(answers.slice(from, from + count))
  }
}

function laneKindOf(request: SlotQueryRequest): LaneKind {
  if (request.kind !== 'scan') return 'short'
  return request.stored === undefined ? 'scan' : 'stored'
}

function tooLate(): WeirError {
  return new WeirError('DEADLINE_EXCEEDED', 'the slot did not answer before the deadline')
}

function isSame(a: AskedRows, b: AskedRows): boolean {
  return (
    a.slot === b.slot && a.keyClass === b.keyClass && a.version === b.version && a.bring === b.bring
  )
}
