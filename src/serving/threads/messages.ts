import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../../core/errors.ts'
import type { MetricSnapshot } from '../../core/metrics.ts'
import type { AccessShare } from '../../http/access/control.ts'
import type { SlotTables } from '../../state/catalog/job-catalog.ts'
import type { ProgressBoardShare } from '../../state/catalog/progress-board.ts'
import type { TypedStateShare } from '../../state/catalog/typed-state-share.ts'
import type { RowTableShare } from '../../state/rows/share.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'
import type { QueryLimits } from '../server/options.ts'

/*
 * Messages between the main thread and a query thread: plain data, shared memories, and ports.
 */

/** Certificate and key as PEM text: the TLS options that can be sent to a thread. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** Certificates that sign those of clients. @default no client certificate is required */
  readonly ca?: string
}

/** Setup of a query thread. */
export interface QueryThreadSetup {
  /** Name in `servedBy`. */
  readonly server: string
  readonly host: string
  /** Ports to try in turn until one is free; 0 lets the system choose. Empty: it only reads, for its own thread. */
  readonly ports: readonly number[]
  readonly job: string
  readonly access: AccessShare
  readonly tls: TlsFiles | undefined
  readonly limits: Partial<QueryLimits>
  readonly hotWeights: number | undefined
  readonly board: ProgressBoardShare
  /** Queryable names of vector state; a name's index is its model number on the board. */
  readonly models: readonly string[]
}

/** Main thread to query thread. */
export type QueryThreadCommand =
  | { readonly kind: 'start'; readonly setup: QueryThreadSetup }
  /** Acknowledged by `table-known` with the same number; numbers rise. */
  | { readonly kind: 'table-opened'; readonly number: number; readonly share: RowTableShare }
  | {
      readonly kind: 'table-dropped'
      readonly slot: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
    }
  /** The tables sent so far are all that the running slot has opened. */
  | { readonly kind: 'tables-complete'; readonly tables: SlotTables }
  | { readonly kind: 'typed-state'; readonly share: TypedStateShare }
  /** A port to the slot: SlotQueryRequestMessages are sent on it, SlotQueryReplyMessages received. */
  | { readonly kind: 'attach-slot'; readonly slot: number; readonly port: MessagePort }
  /** Requests that wait for the slot fail with SLOT_LOST; its tables stay readable. */
  | { readonly kind: 'slot-lost'; readonly slot: number }
  | { readonly kind: 'routing'; readonly table: RoutingTable }
  /** Other tokens are accepted from now on. */
  | { readonly kind: 'access'; readonly share: AccessShare }
  | { readonly kind: 'metrics'; readonly request: number }
  | { readonly kind: 'close' }

/** Query thread to main thread. */
export type QueryThreadReport =
  | { readonly kind: 'listening'; readonly port: number }
  /** The thread, which has no port, can read. */
  | { readonly kind: 'reading' }
  /** The thread reads this table, and those with lower numbers that were sent to it. */
  | { readonly kind: 'table-known'; readonly number: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'metrics'; readonly request: number; readonly metrics: MetricSnapshot }
  | { readonly kind: 'closed' }
