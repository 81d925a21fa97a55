import type { JobCatalog, SlotTables } from '../../state/catalog/job-catalog.ts'
import type { ProgressBoardShare, SlotStatus } from '../../state/catalog/progress-board.ts'
import type { TableReader } from '../../state/catalog/readers-are-up-to-date.ts'
import type { TypedStateShare } from '../../state/catalog/typed-state-share.ts'
import type { RowTableShare } from '../../state/rows/share.ts'
import type { MessagePortLike } from './slot-messages.ts'

/**
 * The query threads as the runtime sees them; `QueryThreads` of the serving layer has this shape. Calls
 * come on the main thread.
 */
export interface ServingPort {
  /** Number of query threads; each has its own port to every slot. */
  readonly threads: number
  /** The job has begun, before any other call. `catalog` always holds all readable state. */
  jobStarted(jobName: string, board: ProgressBoardShare, catalog: JobCatalog): void
  /** The table is read from now on, instead of an earlier one of the same state, version and slot. */
  tableOpened(share: RowTableShare): void
  /** The table is not read any more. */
  tableDropped(share: RowTableShare): void
  /** What has been passed on is all that the running slot has opened: its progress holds for it. */
  tablesComplete(tables: SlotTables): void
  /** A slot holds a part of a typed state; repeated for every slot and attempt. */
  typedStateDeclared(share: TypedStateShare): void
  /** The slot answers requests (SlotQueryRequestMessage) that are sent on the port. */
  attachSlot(slot: number, thread: number, port: MessagePortLike): void
  /** Calls `listener` after a query thread was replaced: the new one needs a port to every slot. */
  onThreadReplaced(listener: (thread: number) => void): void
  /** By living query thread, which of the opened tables it has been sent and acknowledged. */
  tableReaders(): readonly TableReader[]
  slotStatus(slot: number, status: SlotStatus): void
}
