import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../../core/clock.ts'
import type { ServingPort } from '../../../runtime/protocol/serving-port.ts'
import { SlotPorts } from '../../../serving/catalog/slot-ports.ts'
import { LocalModelReader } from '../../../serving/reader/model-reader.ts'
import { stateInfosOf } from '../../../serving/threads/state-infos.ts'
import { JobCatalog, type SlotTables } from '../../../state/catalog/job-catalog.ts'
import {
  ProgressBoard,
  type ProgressBoardShare,
  type SlotStatus,
} from '../../../state/catalog/progress-board.ts'
import type { TableReader } from '../../../state/catalog/readers-are-up-to-date.ts'
import { StateCatalog } from '../../../state/catalog/state-catalog.ts'
import type { TypedStateShare } from '../../../state/catalog/typed-state-share.ts'
import type { RowTableShare } from '../../../state/rows/share.ts'
import type { QueryableStateInfo } from '../../../wire/routing-table.ts'

/** What a queryable state says of its keys. */
export interface StateKeys {
  readonly operatorUid: string
  /** Its max parallelism. */
  readonly keyGroups: number
  /** Id of the serializer of its keys; undefined for rows. */
  readonly keyFormat: string | undefined
}

/** Options of the reader of a job partition. */
export interface PartitionReaderOptions {
  readonly clock: Clock
  /** Name in `servedBy`. */
  readonly server: string
  /** Called whenever the partition begins to run. */
  readonly running: () => void
}

/**
 * Reads the state of one job partition in the calling thread. To the runtime it is the only query thread of the
 * partition's execution, which has one slot.
 */
export class PartitionReader implements ServingPort {
  readonly threads = 1
  private readonly options: PartitionReaderOptions
  private readonly slots = new SlotPorts()
  private readonly catalog = new StateCatalog()
  private all = new JobCatalog()
  private local: LocalModelReader | undefined
  private isRunning = false

  constructor(options: PartitionReaderOptions) {
    this.options = options
  }

  /** The reader while the partition runs; undefined while it starts or restores. */
  get reader(): LocalModelReader | undefined {
    return this.isRunning ? this.local : undefined
  }

  /** The queryable states, as the routing table lists them. */
  states(): QueryableStateInfo[] {
    return stateInfosOf(this.all, {
      liveVersionOf: () => 0,
      labelsOf: () => undefined,
      termsOf: () => undefined,
    })
  }

  /** The keys of a queryable state; undefined where the partition has not opened it. */
  keysOf(state: string): StateKeys | undefined {
    const typed = this.catalog.typedState(state)[0]
    if (typed !== undefined) {
      const { operatorUid, maxParallelism: keyGroups, keyFormat } = typed
      return { operatorUid, keyGroups, keyFormat }
    }
    const table = this.all.tables().find(({ queryableName }) => queryableName === state)
    if (table === undefined) return undefined
    const { operatorUid, maxParallelism: keyGroups } = table
    return { operatorUid, keyGroups, keyFormat: undefined }
  }

  jobStarted(_jobName: string, board: ProgressBoardShare, catalog: JobCatalog): void {
    const { clock, server } = this.options
    this.all = catalog
    this.local = new LocalModelReader({
      ...{ catalog: this.catalog, board: new ProgressBoard(board), clock, server },
      modelOf: () => undefined,
      slots: this.slots,
    })
  }

  tableOpened(share: RowTableShare): void {
    this.catalog.add(share)
  }

  tableDropped(share: RowTableShare): void {
    this.catalog.drop(share)
  }

  tablesComplete(tables: SlotTables): void {
    this.catalog.setSlotTables(tables)
  }

  typedStateDeclared(share: TypedStateShare): void {
    this.catalog.addTyped(share)
  }

  attachSlot(slot: number, _thread: number, port: MessagePort): void {
    this.slots.attach(slot, port)
  }

  /** The calling thread ends with the process. */
  onThreadReplaced(): void {}

  /** Tables are known as soon as they are opened: no message is on its way. */
  tableReaders(): readonly TableReader[] {
    return []
  }

  slotStatus(slot: number, status: SlotStatus): void {
    this.isRunning = status === 'running'
    if (status === 'down') this.slots.detach(slot)
    if (this.isRunning) this.options.running()
  }

  /** Answers nothing from now on; what waits for the slot fails with SLOT_LOST. */
  close(): void {
    this.isRunning = false
    this.slots.close()
  }
}
