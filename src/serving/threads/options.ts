import type { Clock } from '../../core/clock.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import type { PortRange } from '../../core/port-range.ts'
import type { AccessShare } from '../../http/access/control.ts'
import type { QueryLimits } from '../server/options.ts'
import type { TlsFiles } from './messages.ts'
import type { QueryWorkers } from './workers.ts'

/** Options of `QueryThreads.start`. */
export interface QueryThreadsOptions {
  /** Query threads, at least 1. */
  readonly threads: number
  /** Run the query servers in the calling thread instead of workers: for tests and examples. */
  readonly inCallingThread?: boolean
  /** Workers that were started before; the caller ends those that are not needed. */
  readonly workers?: Pick<QueryWorkers, 'take'> | undefined
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Bootstrap port; 0 lets the system choose. @default 9069 */
  readonly port?: number
  /** Ports of the threads, divided among them. @default the system chooses */
  readonly threadPorts?: PortRange | undefined
  /** Tokens of which every client must have one. @default none is required */
  readonly access?: AccessShare
  readonly tls?: TlsFiles
  readonly limits?: Partial<QueryLimits>
  /** As in `LocalModelReaderOptions`. */
  readonly hotWeights?: number | undefined
  /** Queryable names of vector state; a name's index is its model number on the board. */
  readonly models?: readonly string[]
  readonly metrics?: MetricGroup
  readonly clock?: Clock
}
