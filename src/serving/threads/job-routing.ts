import type { JobCatalog } from '../../state/catalog/job-catalog.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { RoutingTable, VersionLabels, VersionTerms } from '../../wire/routing-table.ts'
import { stateInfosOf } from './state-infos.ts'
import type { ThreadLink } from './thread-link.ts'

/** A job that has begun. */
export interface StartedJob {
  readonly name: string
  readonly board: ProgressBoard
}

/** Where the routing table of a job comes from, and who receives it. */
export interface RoutingSources {
  /** Queryable names, in the order of the board's live versions. */
  readonly models: readonly string[]
  /** The job; undefined before it begins. */
  job(): StartedJob | undefined
  catalog(): JobCatalog
  threads(): readonly ThreadLink[]
  /** Labels of the versions of a linear model; undefined for another state. */
  labelsOf(name: string): readonly VersionLabels[] | undefined
  /** Terms of the versions of a model of implicit feedback; undefined for another state. */
  termsOf(name: string): readonly VersionTerms[] | undefined
  /** Receives every new table. */
  changed(table: RoutingTable): void
}

/** The routing table of a job. It is built again after changes of threads, tables and live versions. */
export class JobRouting {
  /** The last table that was built. */
  table: RoutingTable = { epoch: 0, job: '', endpoints: [], states: [], sources: [] }
  private readonly sources: RoutingSources
  private isScheduled = false
  private isClosed = false

  constructor(sources: RoutingSources) {
    this.sources = sources
  }

  /** The table with the live versions of now. */
  current(): RoutingTable {
    const epoch = this.sources.job()?.board.routingEpoch() ?? 0
    // A version that goes live changes nothing but the epoch.
    if (epoch !== this.table.epoch) this.table = this.build()
    return this.table
  }

  /** Reports a change. All changes of one turn of the event loop make one new table, with a new epoch. */
  changed(): void {
    if (this.isScheduled || this.isClosed) return
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      if (this.isClosed) return
      this.sources.job()?.board.bumpRoutingEpoch()
      this.table = this.build()
      this.sources.changed(this.table)
    })
  }

  private build(): RoutingTable {
    const job = this.sources.job()
    return {
      epoch: job?.board.routingEpoch() ?? 0,
      job: job?.name ?? '',
      endpoints: this.sources
        .threads()
        .filter(({ listening }) => listening > 0)
        .map(({ number, listening }) => ({
          server: `query-${number}`,
          host: '',
          port: listening,
        })),
      states: stateInfosOf(this.sources.catalog(), {
        liveVersionOf: (name) => {
          const model = this.sources.models.indexOf(name)
          return model < 0 || job === undefined ? 0 : job.board.liveVersion(model)
        },
        labelsOf: (name) => this.sources.labelsOf(name),
        termsOf: (name) => this.sources.termsOf(name),
      }),
      sources: (job?.board.share.sources ?? []).map((source, number) => {
        const { uid, tracked, returnsThrough, topic } = source
        const isTracked = tracked || typeof returnsThrough === 'number'
        return { number, uid, tracked: isTracked, ...(topic === undefined ? {} : { topic }) }
      }),
    }
  }

  /** Builds no table after this. */
  close(): void {
    this.isClosed = true
  }
}
