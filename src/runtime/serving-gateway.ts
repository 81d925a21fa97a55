import type { ProgressBoardShare, SlotStatus } from '../state/progress-board.ts'
import type { RowTableShare } from '../state/row-table-share.ts'
import type { MessagePortLike, QueryableDeclaration } from './slot-protocol.ts'

/**
 * What the runtime tells whoever serves queries; implemented above the runtime, with `query-*` of the
 * serving layer. Calls come on the main thread. A table of an older attempt stays open while the new
 * attempt restores, so that its rows can still be read; it is dropped when the new slot runs.
 */
export interface ServingGateway {
  /** Query threads; each gets a port of its own to every slot. */
  readonly threads: number
  /** The job has begun, before any other call. */
  jobStarted(jobName: string, board: ProgressBoardShare): void
  /** A slot writes a row table that may be read in place. */
  tableOpened(share: RowTableShare, attempt: number): void
  /** The table of this attempt is not written any more and not to be read. */
  tableDropped(share: RowTableShare, attempt: number): void
  /** Requests (SlotQueryRequestMessage) sent on the port are answered by the slot. */
  attachSlot(slot: number, thread: number, port: MessagePortLike): void
  /**
   * Tells whom to call after a query thread was replaced: the fresh one has no ports to slots, and
   * gets them by `attachSlot`.
   */
  onThreadReplaced(listener: (thread: number) => void): void
  slotStatus(slot: number, status: SlotStatus): void
  /** A state can be queried by name; repeated for every slot and attempt. */
  declareQueryable(declaration: QueryableDeclaration): void
}
