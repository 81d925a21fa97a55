import type { Clock } from '../core/clock.ts'
import { MAX_TOP_K_QUERIES } from '../kernels/kernels.ts'
import { decodeVectorFloats } from '../state/vector-row-codec.ts'
import type { ScoredKey } from '../wire/model-reader.ts'
import type { LocalVersion } from './local-catalog.ts'
import { innerProductOf } from './local-read-group.ts'
import type { LocalSlotAsker } from './local-slot-asker.ts'
import { TopKHeap, type TopKQuery } from './local-top-k-heap.ts'
import { TopKScan } from './local-top-k-scan.ts'
import { TopKShadows } from './local-top-k-shadows.ts'

/** A pass gives the event loop back after this long. */
const TURN_MS = 1
/** Stored rows that a slot is asked for at a time, so that it stands still for about a millisecond. */
const STORED_PAGE = 256
/** Most memory for the codes that rows are screened by. */
const SHADOW_BYTES = 256 * 1024 * 1024

interface Waiting {
  readonly query: TopKQuery
  resolve(results: ScoredKey[]): void
  reject(error: unknown): void
}

/**
 * Exact top-k over the live rows of versions. Queries for one version that wait together share a
 * pass over its rows, 16 at a time; a pass runs in turns of about a millisecond, so that predictions
 * of the same thread go on between. Rows are screened by codes that the thread keeps of them, a quarter
 * of the bytes (docs/decisions/0005-topk-screening.md). Where rows were spilled, the slot is asked for them page by page
 * after the pass over memory: a row that moves meanwhile is met in one of the two.
 */
export class LocalTopK {
  private readonly asker: LocalSlotAsker
  private readonly clock: Clock
  private readonly shadows: TopKShadows
  private readonly queues = new Map<LocalVersion, Waiting[]>()

  constructor(asker: LocalSlotAsker, clock: Clock) {
    this.asker = asker
    this.clock = clock
    this.shadows = new TopKShadows(clock, SHADOW_BYTES)
  }

  /** The k best rows of a version, descending. */
  search(version: LocalVersion, query: TopKQuery): Promise<ScoredKey[]> {
    return new Promise((resolve, reject) => {
      const waiting = { query, resolve, reject }
      const queue = this.queues.get(version)
      if (queue !== undefined) {
        queue.push(waiting)
        return
      }
      this.queues.set(version, [waiting])
      void this.serve(version)
    })
  }

  private async serve(version: LocalVersion): Promise<void> {
    const queue = this.queues.get(version)!
    while (queue.length > 0) {
      await nextTurn()
      const batch = queue.splice(0, MAX_TOP_K_QUERIES)
      try {
        const heaps = await this.pass(version, batch)
        for (const [i, { resolve }] of batch.entries()) resolve(heaps[i]!.results())
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.queues.delete(version)
  }

  private async pass(version: LocalVersion, batch: readonly Waiting[]): Promise<TopKHeap[]> {
    const maxKeyBytes = Math.max(1, ...version.readers.map((one) => one.layout.maxKeyBytes))
    const heaps = batch.map(({ query }) => new TopKHeap(query, maxKeyBytes))
    for (const reader of version.readers) {
      const scan = new TopKScan(reader, heaps, this.shadows)
      const turn = (): boolean => {
        const end = this.clock.monotonicMs() + TURN_MS
        return scan.run(() => this.clock.monotonicMs() >= end)
      }
      while (!turn()) await nextTurn()
      if (reader.storeRows > 0) await this.addStored(version, reader.share.slot, heaps)
    }
    return heaps
  }

  private async addStored(
    version: LocalVersion,
    slot: number,
    heaps: readonly TopKHeap[],
  ): Promise<void> {
    const { operatorUid, state, dimension } = version.side
    let from = new Uint8Array(0)
    for (;;) {
      const answers = await this.asker.ask(slot, (id) => ({
        kind: 'scan',
        id,
        queryableName: '',
        version: version.version,
        from,
        to: new Uint8Array(0),
        limit: STORED_PAGE,
        stored: { operatorUid, state },
      }))
      for (const answer of answers) {
        if (answer.kind !== 'found') continue
        const { key } = answer
        const vector = decodeVectorFloats(answer.value, dimension)
        for (const heap of heaps) {
          if (!heap.accepts(key, 0, key.length)) continue
          heap.offer(innerProductOf(vector, heap.query.vector), key, 0, key.length)
        }
      }
      if (answers.length < STORED_PAGE) return
      from = successorOf(answers.at(-1)!.key)
    }
  }
}

/** The smallest key above a key. */
function successorOf(key: Uint8Array): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
