import type { Clock } from '../../core/clock.ts'
import type { Histogram } from '../../core/metrics.ts'
import type { SlotExchange } from './exchange.ts'
import { afterTurn, type LoopTurn } from './loop.ts'
import type { SlotQueries } from './queries.ts'
import type { SubtaskScheduler } from './scheduler.ts'

/** Length of a slice, after which the event loop turns. */
const SLICE_MS = 1
/**
 * Time spent per slice on queries: a quarter of that on records. While neither a record nor a scan waits it is a
 * whole slice, because reads that arrive during a scan must not wait for so long.
 */
const QUERY_MS = { shared: SLICE_MS / 4, alone: SLICE_MS } as const
/** Time spent per slice on copying state out. */
const SNAPSHOT_MS = 1

/** What a slot works on in its turns. */
export interface SlotWork {
  readonly clock: Clock
  readonly queries: Pick<SlotQueries, 'answer' | 'isWaiting' | 'hasScans'>
  readonly scheduler: Pick<
    SubtaskScheduler,
    'process' | 'tick' | 'isFlushDue' | 'flush' | 'nextTickMs'
  >
  readonly exchange: Pick<SlotExchange, 'beginTurn' | 'takeDelivered' | 'endTurn' | 'flush'>
  /** Copies state for checkpoints for at most this many ms; returns whether it copied some. */
  readonly copy: (budgetMs: number) => boolean
  /** No call of an operator is under way any more. */
  readonly endCalls: () => void
  /** Time from a request to wake the slot to its turn. */
  readonly latency: Histogram
}

/**
 * One turn of a slot after the other: queries, a slice of records, a part of a snapshot, timers, output. A slice
 * after which nothing is left to do is the last one when what it has emitted is sent: a turn that only finds this
 * out costs as much as several records, and a slot that gets few records at a time had one for each of them.
 */
export class SlotTurn {
  private readonly work: SlotWork
  private readonly takeDelivered: () => boolean
  private wakeAskedMs: number | undefined
  /** Whether the turn before had records or state to copy. */
  private wasBusy = true

  constructor(work: SlotWork) {
    this.work = work
    this.takeDelivered = () => work.exchange.takeDelivered()
  }

  /** The slot was asked to turn; the latency counts from the first request. */
  wakeAsked(): void {
    this.wakeAskedMs ??= this.work.clock.monotonicMs()
  }

  run(): LoopTurn {
    const { clock, queries, scheduler, exchange, copy, endCalls, latency } = this.work
    const startMs = clock.monotonicMs()
    if (this.wakeAskedMs !== undefined) latency.observe(startMs - this.wakeAskedMs)
    this.wakeAskedMs = undefined
    queries.answer(this.wasBusy || queries.hasScans ? QUERY_MS.shared : QUERY_MS.alone)
    exchange.beginTurn()
    const end = scheduler.process(startMs + SLICE_MS, this.takeDelivered)
    const copied = copy(SNAPSHOT_MS)
    this.wasBusy = end !== 'idle' || copied
    const nowMs = clock.nowMs()
    const flushes = end === 'idle' || scheduler.isFlushDue
    const rests = flushes && end !== 'more'
    scheduler.tick(nowMs, rests)
    if (flushes) scheduler.flush()
    exchange.flush()
    endCalls()
    const hasDelivered = exchange.endTurn()
    return afterTurn({
      more: !rests || hasDelivered || queries.isWaiting,
      copied,
      nowMs,
      nextTickMs: scheduler.nextTickMs(nowMs),
    })
  }
}
