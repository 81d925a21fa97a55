import type { Cancel, Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import { waitEndNotice, waitNotice } from '../../core/lifetime/wait.ts'
import { type WaitingOperator, waitingOperators } from '../../dataflow/plan/table-order.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'

/** From a subtask that waits for a table to the job: it has read what the table had when the attempt started. */
export interface TableLoaded {
  readonly tableLoaded: true
}

/** From the job to a source that waits for tables: it may read. */
export interface MayRead {
  readonly mayRead: true
}

/** Time after which a load is said, ms: nothing waits in silence. */
const SAID_AFTER_MS = 5_000

/** Sends an event to all subtasks of a source. */
type SendMayRead = (uid: string, event: MayRead) => void

/**
 * The loads of the tables of a job, on the main thread: a source is read once each operator is loaded that has its records as a
 * stream beside a table. Its records would otherwise hold up the barriers of checkpoints in front of such an operator.
 */
export class TableLoads {
  private readonly operators: readonly WaitingOperator[]
  private readonly clock: Clock
  private readonly say: (notice: WeirError) => void
  private send: SendMayRead = () => {}
  /** By operator, its subtasks that have their table. */
  private readonly loaded = new Map<string, Set<number>>()
  /** Operators whose load was said, which takes long. */
  private readonly said = new Set<string>()
  private cancelSaying: Cancel | undefined

  /** `say` gets the notices that a load takes long, and that it has ended. */
  constructor(graph: StreamGraph, clock: Clock, say: (notice: WeirError) => void) {
    this.operators = waitingOperators(graph)
    this.clock = clock
    this.say = say
  }

  /** An attempt begins: all tables are loaded again. */
  start(send: SendMayRead): void {
    this.send = send
    this.loaded.clear()
    this.cancelSaying?.()
    this.cancelSaying = undefined
    if (this.operators.length === 0) return
    const sinceMs = this.clock.nowMs()
    this.cancelSaying = this.clock.after(SAID_AFTER_MS, () => this.saySlow(sinceMs))
  }

  /** The attempt is over. */
  stop(): void {
    this.cancelSaying?.()
  }

  /** A subtask sent an event; true when it was about its table. */
  onEvent(uid: string, subtask: number, event: unknown): boolean {
    if (!isLoaded(event)) return false
    const subtasks = this.loaded.get(uid) ?? new Set<number>()
    this.loaded.set(uid, subtasks.add(subtask))
    const operator = this.operators.find((candidate) => candidate.uid === uid)
    if (operator === undefined || !this.isDone(operator)) return true
    for (const source of operator.held) this.release(source)
    if (this.said.delete(uid)) {
      const waitsFor = tableOf(operator)
      this.say(waitEndNotice('TABLE_LOADING', `${waitsFor} is loaded`, waitsFor))
    }
    return true
  }

  private saySlow(sinceMs: number): void {
    for (const operator of this.operators) {
      if (this.isDone(operator)) continue
      this.said.add(operator.uid)
      const waitsFor = tableOf(operator)
      const why = 'its sources have not been read to the end that they had at the start'
      const message = `${waitsFor} is being loaded: ${why}, and no record of the stream that joins it is read before`
      this.say(waitNotice('TABLE_LOADING', message, { waitsFor, why, sinceMs }))
    }
  }

  private release(source: string): void {
    const waiting = this.operators.filter(({ held }) => held.includes(source))
    if (waiting.every((operator) => this.isDone(operator))) this.send(source, { mayRead: true })
  }

  private isDone({ uid, parallelism }: WaitingOperator): boolean {
    return this.loaded.get(uid)?.size === parallelism
  }
}

const tableOf = ({ name }: WaitingOperator): string => `the table of operator "${name}"`

function isLoaded(event: unknown): event is TableLoaded {
  return typeof event === 'object' && event !== null && 'tableLoaded' in event
}

/** Whether an event of the job lets a source read. */
export function mayRead(event: unknown): event is MayRead {
  return typeof event === 'object' && event !== null && 'mayRead' in event
}
