import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../core/errors.ts'
import type { MetricSnapshot } from '../core/metrics.ts'
import type { ProgressBoardShare } from '../state/progress-board.ts'
import type { RowTableShare } from '../state/row-table-share.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import type { TypedStateShare } from './local-catalog.ts'
import type { QueryLimits } from './query-options.ts'

/*
 * Messages between the main thread and a query thread: plain data, shared memories, and ports.
 */

/** Certificate and key as PEM text: what of TLS options can be sent to a thread. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** Certificates that clients must be signed by; no client certificate is asked for when missing. */
  readonly ca?: string
}

/** What a query thread is told first. */
export interface QueryThreadSetup {
  /** Name in `servedBy`. */
  readonly server: string
  readonly host: string
  /** Ports to try in turn until one is free; 0 lets the system choose. */
  readonly ports: readonly number[]
  readonly job: string
  readonly token: string | undefined
  readonly tls: TlsFiles | undefined
  readonly limits: Partial<QueryLimits>
  readonly board: ProgressBoardShare
  /** Queryable names of vector state; a name's place is its model number on the board. */
  readonly models: readonly string[]
}

/** Main thread to query thread. */
export type QueryThreadCommand =
  | { readonly kind: 'start'; readonly setup: QueryThreadSetup }
  | { readonly kind: 'table-opened'; readonly share: RowTableShare }
  | {
      readonly kind: 'table-dropped'
      readonly slot: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
    }
  | { readonly kind: 'typed-state'; readonly share: TypedStateShare }
  /** The other end of the port is at the slot: SlotQueryRequestMessages go out, SlotQueryReplyMessages come in. */
  | { readonly kind: 'attach-slot'; readonly slot: number; readonly port: MessagePort }
  /** What was asked of the slot fails with SLOT_LOST; its tables stay readable. */
  | { readonly kind: 'slot-lost'; readonly slot: number }
  | { readonly kind: 'routing'; readonly table: RoutingTable }
  | { readonly kind: 'metrics'; readonly request: number }
  | { readonly kind: 'close' }

/** Query thread to main thread. */
export type QueryThreadReport =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'metrics'; readonly request: number; readonly metrics: MetricSnapshot }
  | { readonly kind: 'closed' }
