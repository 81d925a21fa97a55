import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import { MAX_TOP_K_QUERIES } from '../../core/kernels/top-k-scratch.ts'
import { FairQueue } from '../../core/lifetime/fair-queue.ts'
import type { StateVersion } from '../../state/catalog/key-class.ts'
import { unpackSlotQueryReply } from '../../state/catalog/slot-query-message.ts'
import { successorOf } from '../../state/port/scan-part.ts'
import { decodeVectorFloats } from '../../state/rows/codec.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import type { SharedThread } from '../catalog/shared-thread.ts'
import type { AskTerms, LocalSlotAsker } from '../catalog/slot-asker.ts'
import type { RankedKeys } from '../port/ranked-keys.ts'
import { Gathering } from './gathering.ts'
import { TopKHeap, type TopKQuery } from './heap.ts'
import { TopKScan } from './scan.ts'
import { TopKShadows } from './shadows.ts'
import { TagColumns } from './tag-column.ts'

/** A pass yields to the event loop after this long. */
const TURN_MS = 1
/** The same while the thread serves other requests, too. */
const SHARED_TURN_MS = 0.25
/** Keys of answers that are written in one turn. */
const TURN_KEYS = 500
/** Stored rows that a slot is asked for at a time: about a millisecond of its work. */
const STORED_PAGE = 256
/** Most memory for the codes of rows. */
const SHADOW_BYTES = 256 * 1024 * 1024

/** A pass ends its requests itself. */
const UNBOUNDED: AskTerms = { deadline: Number.POSITIVE_INFINITY, owner: undefined }

interface Waiting {
  readonly query: TopKQuery
  readonly terms: AskTerms
  resolve(results: RankedKeys): void
  reject(error: unknown): void
}

/**
 * Exact top-k over the live rows of versions. Up to 16 queries that wait for one version share a pass
 * over its rows, taken from every connection in turn. A pass runs in turns of a millisecond, or less
 * while there are other requests, so that the thread answers those in between. Rows are screened by their codes, which are a quarter of the bytes
 * (docs/decisions/queries.md#exact-top-k). Spilled rows are fetched from the slot page by page after the
 * pass over memory, so that a row that moves meanwhile is read in at least one of the two.
 */
export class LocalTopK {
  private readonly asker: LocalSlotAsker
  private readonly clock: Clock
  private readonly shadows: TopKShadows
  private readonly columns = new TagColumns()
  private readonly thread: SharedThread
  private readonly queues = new Map<StateVersion, FairQueue<Waiting>>()
  private readonly gatherings = new WeakMap<StateVersion, Gathering>()
  /** Called after each query that joins a queue. */
  private readonly joins = new Map<FairQueue<Waiting>, () => void>()
  /** Heaps that are used again: one of a thousand rows has a hundred kilobytes. */
  private heaps: TopKHeap[] = []

  constructor(asker: LocalSlotAsker, clock: Clock, thread: SharedThread) {
    this.asker = asker
    this.clock = clock
    this.thread = thread
    this.shadows = new TopKShadows(clock, SHADOW_BYTES)
  }

  /** Monotonic time when a turn that begins now must end. */
  private endOfTurn(): number {
    return this.clock.monotonicMs() + (this.thread.isShared() ? SHARED_TURN_MS : TURN_MS)
  }

  /**
   * The k best rows of a version, descending. The promise stays pending when the query's deadline has come
   * or its connection is gone: then nothing is computed for it any more.
   */
  search(version: StateVersion, query: TopKQuery, terms: AskTerms): Promise<RankedKeys> {
    return new Promise((resolve, reject) => {
      const waiting = { query, terms, resolve, reject }
      const queue = this.queues.get(version)
      if (queue !== undefined) {
        queue.push(terms.owner, waiting)
        this.joins.get(queue)?.()
        return
      }
      const first = new FairQueue<Waiting>()
      first.push(terms.owner, waiting)
      this.queues.set(version, first)
      void this.serve(version, first)
    })
  }

  private async serve(version: StateVersion, queue: FairQueue<Waiting>): Promise<void> {
    const gathering = this.gatheringOf(version)
    while (queue.size > 0) {
      await nextTurn()
      await this.gather(queue, gathering)
      const batch = this.nextBatch(queue)
      if (batch.length === 0) continue
      try {
        const heaps = this.heapsFor(version, batch)
        const startedMs = this.clock.monotonicMs()
        await this.pass(version, batch, heaps)
        const endedMs = this.clock.monotonicMs()
        gathering.ended({ queries: batch.length, waiting: queue.size, startedMs, endedMs })
        await this.answer(batch, heaps)
        this.heaps = [...heaps, ...this.heaps].slice(0, MAX_TOP_K_QUERIES)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.queues.delete(version)
  }

  private gatheringOf(version: StateVersion): Gathering {
    const known = this.gatherings.get(version)
    if (known !== undefined) return known
    const gathering = new Gathering()
    this.gatherings.set(version, gathering)
    return gathering
  }

  /** Waits for queries that are on their way. */
  private async gather(queue: FairQueue<Waiting>, gathering: Gathering): Promise<void> {
    const now = this.clock.monotonicMs()
    const { queries, ms } = gathering.next(queue.size, MAX_TOP_K_QUERIES, now)
    if (ms === 0) return
    const came = await new Promise<boolean>((resolve) => {
      const cancel = this.clock.after(ms, () => resolve(false))
      this.joins.set(queue, () => {
        if (queue.size < queries) return
        cancel()
        resolve(true)
      })
    })
    this.joins.delete(queue)
    gathering.waited(came)
  }

  /** Answers some queries in each turn: texts of thousands of keys take milliseconds. */
  private async answer(batch: readonly Waiting[], heaps: readonly TopKHeap[]): Promise<void> {
    let keys = 0
    for (const [i, waiting] of batch.entries()) {
      if (keys >= TURN_KEYS) {
        await nextTurn()
        keys = 0
      }
      keys += waiting.query.k
      if (this.isWanted(waiting)) waiting.resolve(heaps[i]!.takeRanked())
    }
  }

  /** The next queries that someone waits for, from every connection in turn. */
  private nextBatch(queue: FairQueue<Waiting>): Waiting[] {
    const batch: Waiting[] = []
    while (batch.length < MAX_TOP_K_QUERIES) {
      const waiting = queue.shift()
      if (waiting === undefined) break
      if (this.isWanted(waiting)) batch.push(waiting)
    }
    return batch
  }

  private isWanted({ terms: { owner, deadline } }: Waiting): boolean {
    return owner?.gone === undefined && this.clock.monotonicMs() < deadline
  }

  private heapsFor(version: StateVersion, batch: readonly Waiting[]): TopKHeap[] {
    const maxKeyBytes = Math.max(1, ...version.readers.map((one) => one.layout.maxKeyBytes))
    return batch.map(({ query }) => {
      const at = this.heaps.findIndex((one) => one.suits(query, maxKeyBytes))
      if (at < 0) return new TopKHeap(query, maxKeyBytes)
      const [heap] = this.heaps.splice(at, 1)
      heap!.reset(query)
      return heap!
    })
  }

  private async pass(
    version: StateVersion,
    batch: readonly Waiting[],
    heaps: readonly TopKHeap[],
  ): Promise<void> {
    const isDivided = ({ query }: TopKHeap): boolean => query.normColumns !== undefined
    const kinds = [heaps.filter((heap) => !isDivided(heap)), heaps.filter(isDivided)]
    for (const reader of version.readers) {
      for (const kind of kinds) {
        if (kind.length > 0 && !(await this.scan(reader, kind, batch))) return
      }
      if (reader.storeRows > 0) await this.addStored(version, reader.share.slot, heaps)
    }
  }

  /** Scans a table in turns; false when no one waits for the queries any more. */
  private async scan(
    reader: RowTableReader,
    heaps: readonly TopKHeap[],
    batch: readonly Waiting[],
  ): Promise<boolean> {
    const scan = new TopKScan(reader, heaps, { shadows: this.shadows, columns: this.columns })
    const turn = (): boolean => {
      const end = this.endOfTurn()
      return scan.run(() => this.clock.monotonicMs() >= end)
    }
    while (!turn()) {
      await nextTurn()
      if (!batch.some((one) => this.isWanted(one))) return false
    }
    return true
  }

  private async addStored(
    version: StateVersion,
    slot: number,
    heaps: readonly TopKHeap[],
  ): Promise<void> {
    const { operatorUid, state } = version.keyClass
    const { dimension } = version
    let from: Uint8Array = new Uint8Array(0)
    for (;;) {
      const reply = await this.asker.ask(slot, UNBOUNDED, (id) => ({
        kind: 'scan',
        id,
        queryableName: '',
        version: version.version,
        from,
        to: new Uint8Array(0),
        limit: STORED_PAGE,
        stored: { operatorUid, state },
      }))
      const { answers } = unpackSlotQueryReply(reply)
      for (const answer of answers) {
        if (answer.kind !== 'found') continue
        const { key } = answer
        const vector = decodeVectorFloats(answer.value, dimension)
        for (const heap of heaps) {
          if (heap.accepts(key, 0, key.length)) heap.offerRow(vector, key)
        }
      }
      if (answers.length < STORED_PAGE) return
      from = successorOf(answers.at(-1)!.key)
    }
  }
}
