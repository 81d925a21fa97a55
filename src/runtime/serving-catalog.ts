import { MessageChannel } from 'node:worker_threads'
import type { ProgressBoard } from '../state/progress-board.ts'
import type { RowTableShare } from '../state/row-table-share.ts'
import type { ServingGateway } from './serving-gateway.ts'
import type { SlotHost } from './slot-host.ts'
import type { SlotReport } from './slot-protocol.ts'

interface OpenTable {
  readonly share: RowTableShare
  readonly attempt: number
}

/**
 * What can be read of a job, kept for the serving layer over attempts: tables of an older attempt
 * stay until the slot runs again. Every change bumps the routing epoch.
 */
export class ServingCatalog {
  private readonly board: ProgressBoard
  private readonly gateway: ServingGateway | undefined
  private tables: OpenTable[] = []
  /** Living slots by number. */
  private readonly hosts = new Map<number, SlotHost>()

  constructor(board: ProgressBoard, gateway: ServingGateway | undefined) {
    this.board = board
    this.gateway = gateway
    gateway?.onThreadReplaced((thread) => this.reattach(thread))
  }

  /** The job begins: until its slots tell what there is, what is not known may be restored yet. */
  begin(jobName: string): void {
    for (let slot = 0; slot < this.board.share.slots; slot++) {
      this.board.setSlotStatus(slot, 'restoring')
    }
    this.gateway?.jobStarted(jobName, this.board.share)
  }

  /** A slot was started: every query thread gets a port to it. */
  attach(slot: number, host: SlotHost): void {
    const { gateway } = this
    if (gateway === undefined) return
    this.hosts.set(slot, host)
    for (let thread = 0; thread < gateway.threads; thread++) this.connect(slot, host, thread)
  }

  /** A report of a slot that concerns readers. */
  onReport(slot: number, report: SlotReport): void {
    switch (report.kind) {
      case 'table-opened':
        this.tables.push({ share: report.share, attempt: report.attempt })
        this.gateway?.tableOpened(report.share, report.attempt)
        break
      case 'table-dropped':
        this.drop(
          ({ share, attempt }) =>
            share.slot === slot &&
            attempt === report.attempt &&
            share.operatorUid === report.operatorUid &&
            share.state === report.state &&
            share.version === report.version,
        )
        break
      case 'queryable-declared':
        this.gateway?.declareQueryable(report.declaration)
        break
      case 'running':
        this.drop(({ share, attempt }) => share.slot === slot && attempt < report.attempt)
        this.gateway?.slotStatus(slot, 'running')
        break
      default:
        return
    }
    this.board.bumpRoutingEpoch()
  }

  /** A slot is gone; its tables can still be read. */
  slotDown(slot: number): void {
    this.hosts.delete(slot)
    this.board.setSlotStatus(slot, 'down')
    this.board.bumpRoutingEpoch()
    this.gateway?.slotStatus(slot, 'down')
  }

  /** The job is over. */
  close(): void {
    this.drop(() => true)
    for (let slot = 0; slot < this.board.share.slots; slot++) this.slotDown(slot)
  }

  /** A query thread was replaced: it gets a port to every living slot. */
  private reattach(thread: number): void {
    for (const [slot, host] of this.hosts) this.connect(slot, host, thread)
  }

  private connect(slot: number, host: SlotHost, thread: number): void {
    const { port1, port2 } = new MessageChannel()
    host.send({ kind: 'attach-query', attempt: 0, port: port1 }, [port1])
    this.gateway?.attachSlot(slot, thread, port2)
  }

  private drop(isDropped: (table: OpenTable) => boolean): void {
    const dropped = this.tables.filter(isDropped)
    this.tables = this.tables.filter((table) => !isDropped(table))
    for (const { share, attempt } of dropped) this.gateway?.tableDropped(share, attempt)
  }
}
