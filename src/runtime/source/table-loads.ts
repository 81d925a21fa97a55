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

/** Sends an event to all subtasks of a source. */
type SendMayRead = (uid: string, event: MayRead) => void

/**
 * The loads of the tables of a job, on the main thread: a source is read once each operator is loaded that has its records as a
 * stream beside a table. Its records would otherwise hold up the barriers of checkpoints in front of such an operator.
 */
export class TableLoads {
  private readonly operators: readonly WaitingOperator[]
  private send: SendMayRead = () => {}
  /** By operator, its subtasks that have their table. */
  private readonly loaded = new Map<string, Set<number>>()

  constructor(graph: StreamGraph) {
    this.operators = waitingOperators(graph)
  }

  /** An attempt begins: all tables are loaded again. */
  start(send: SendMayRead): void {
    this.send = send
    this.loaded.clear()
  }

  /** A subtask sent an event; true when it was about its table. */
  onEvent(uid: string, subtask: number, event: unknown): boolean {
    if (!isLoaded(event)) return false
    const subtasks = this.loaded.get(uid) ?? new Set<number>()
    this.loaded.set(uid, subtasks.add(subtask))
    const operator = this.operators.find((candidate) => candidate.uid === uid)
    if (operator === undefined || !this.isDone(operator)) return true
    for (const source of operator.held) this.release(source)
    return true
  }

  private release(source: string): void {
    const waiting = this.operators.filter(({ held }) => held.includes(source))
    if (waiting.every((operator) => this.isDone(operator))) this.send(source, { mayRead: true })
  }

  private isDone({ uid, parallelism }: WaitingOperator): boolean {
    return this.loaded.get(uid)?.size === parallelism
  }
}

function isLoaded(event: unknown): event is TableLoaded {
  return typeof event === 'object' && event !== null && 'tableLoaded' in event
}

/** Whether an event of the job lets a source read. */
export function mayRead(event: unknown): event is MayRead {
  return typeof event === 'object' && event !== null && 'mayRead' in event
}
