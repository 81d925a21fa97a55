import { MessageChannel } from 'node:worker_threads'
import { JobCatalog, type TableChange } from '../../state/catalog/job-catalog.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import { reclaimTable } from '../../state/catalog/reclaim.ts'
import type { ServingPort } from '../protocol/serving-port.ts'
import type { SlotHost } from '../protocol/slot-host.ts'
import type { SlotReport } from '../protocol/slot-messages.ts'

/**
 * Connects the slots of a job with the query threads over all attempts: keeps the catalog of what can
 * be read, passes its changes on, and connects every query thread with every slot. A table of an
 * earlier attempt is read until its slot runs again. Every change bumps the routing epoch.
 */
export class JobServing {
  private readonly board: ProgressBoard
  private readonly port: ServingPort | undefined
  private readonly catalog = new JobCatalog()
  /** Living slots by number. */
  private readonly hosts = new Map<number, SlotHost>()

  /** `port` is undefined for a job that serves no queries. */
  constructor(board: ProgressBoard, port: ServingPort | undefined) {
    this.board = board
    this.port = port
    port?.onThreadReplaced((thread) => this.reattach(thread))
  }

  /** The job begins. A slot that has not reported yet is starting. */
  begin(jobName: string): void {
    for (let slot = 0; slot < this.board.share.slots; slot++) {
      this.board.setSlotStatus(slot, 'starting')
    }
    this.port?.jobStarted(jobName, this.board.share, this.catalog)
  }

  /** A slot was started: every query thread gets a port to it. */
  attach(slot: number, host: SlotHost): void {
    const { port } = this
    if (port === undefined) return
    this.hosts.set(slot, host)
    for (let thread = 0; thread < port.threads; thread++) this.connect(slot, host, thread)
  }

  /** A report of a slot; all but those that concern readers are ignored. */
  onReport(slot: number, report: SlotReport): void {
    switch (report.kind) {
      case 'table-opened':
        this.pass(this.catalog.add({ share: report.share, attempt: report.attempt }))
        break
      case 'table-dropped': {
        const { attempt, operatorUid, state, version } = report
        const dropped = this.catalog.drop(
          (table) =>
            table.attempt === attempt &&
            table.share.slot === slot &&
            table.share.operatorUid === operatorUid &&
            table.share.state === state &&
            table.share.version === version,
        )
        this.pass(dropped)
        break
      }
      case 'typed-state-declared':
        this.catalog.addTyped(report.share)
        this.port?.typedStateDeclared(report.share)
        break
      case 'running':
        this.pass(this.catalog.slotRuns(slot, report.attempt))
        this.port?.slotStatus(slot, 'running')
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
    this.port?.slotStatus(slot, 'down')
  }

  /** The job is over. While its slots counted as running, a reader without its tables would say that no key exists. */
  close(): void {
    for (let slot = 0; slot < this.board.share.slots; slot++) this.slotDown(slot)
    this.pass(this.catalog.drop(() => true))
  }

  /** A query thread was replaced: it gets a port to every living slot. */
  private reattach(thread: number): void {
    for (const [slot, host] of this.hosts) this.connect(slot, host, thread)
  }

  private connect(slot: number, host: SlotHost, thread: number): void {
    const { port1, port2 } = new MessageChannel()
    host.send({ kind: 'attach-query', attempt: 0, port: port1 }, [port1])
    this.port?.attachSlot(slot, thread, port2)
  }

  private pass(changes: readonly TableChange[]): void {
    for (const change of changes) {
      if (change.kind === 'opened') this.port?.tableOpened(change.share)
      else if (change.kind === 'dropped') {
        this.port?.tableDropped(change.share)
        reclaimTable(change.share.memory)
      } else this.port?.tablesComplete(change.tables)
    }
  }
}
