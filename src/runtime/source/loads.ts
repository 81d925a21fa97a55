import type { Clock } from '../../core/clock.ts'
import type { Source } from '../../operators/port/source.ts'
import type { ControlMessage } from '../channel/message.ts'
import type { SourceProgress } from './progress.ts'
import { mayRead, type TableLoaded } from './table-loads.ts'

/** The subtask of a load, as the load sees it. */
export interface LoadingSubtask {
  readonly clock: Clock
  readonly deferred: { afterAll(action: () => void): void }
  control(make: (channel: number) => ControlMessage): void
  sendEvent(uid: string, event: unknown): void
}

/** Says behind all records of the chain that it has sent those that a source had at the start. */
export function reportLoaded(subtask: LoadingSubtask, source: number): void {
  subtask.deferred.afterAll(() =>
    subtask.control((channel) => ({ kind: 'loaded', channel, source })),
  )
}

/** Options of the load of a source. */
export interface SourceLoadOptions {
  readonly source: Source<unknown>
  readonly plan: {
    /** Its number in the job. */
    readonly sources: readonly number[]
    readonly reportsLoads: boolean
    readonly waitsForTables: boolean
  }
}

/** The part of a source subtask in the loads of tables: it says when it has sent what it had, and may have to wait for others. */
export class SourceLoad {
  /** Whether the tables are loaded in front of which its records would wait. */
  mayRead: boolean
  private readonly subtask: LoadingSubtask
  private readonly options: SourceLoadOptions
  private isReported: boolean
  private sinceMs = 0

  constructor(subtask: LoadingSubtask, options: SourceLoadOptions) {
    this.subtask = subtask
    this.options = options
    this.mayRead = !options.plan.waitsForTables
    this.isReported = !options.plan.reportsLoads
  }

  /** The reader is opened: what the source has from now on is no part of the load. */
  begin(): void {
    this.sinceMs = this.subtask.clock.monotonicMs()
  }

  /** Says that all is sent, if it is. What a bounded source has at the start, it has until it ends. */
  check(progress: SourceProgress): void {
    if (this.isReported || this.options.source.boundedness === 'bounded') return
    if (progress.isLoaded(this.sinceMs)) this.report()
  }

  /** All is sent that the source had. */
  report(): void {
    if (this.isReported) return
    this.isReported = true
    const [source] = this.options.plan.sources
    reportLoaded(this.subtask, source!)
  }

  /** An event of the job; true if it lets the source read. */
  handleEvent(event: unknown): boolean {
    if (!mayRead(event)) return false
    this.mayRead = true
    return true
  }
}

/** The load of a table in front of an operator: until its end, the sources of the other input are not read. */
export class TableLoad {
  private readonly subtask: LoadingSubtask
  private readonly uid: string
  private isDone = false

  /** `uid`: that of the operator. */
  constructor(subtask: LoadingSubtask, uid: string) {
    this.subtask = subtask
    this.uid = uid
  }

  /** All is there: says so to the job. */
  end(): void {
    if (this.isDone) return
    this.isDone = true
    const event: TableLoaded = { tableLoaded: true }
    this.subtask.sendEvent(this.uid, event)
  }
}
