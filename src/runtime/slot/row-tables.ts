import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { SlotCommand, SlotReport } from '../protocol/slot-messages.ts'

/** A command about a row table of another slot. */
type PeerTableCommand = Extract<
  SlotCommand,
  { readonly kind: 'peer-table-opened' | 'peer-table-dropped' }
>

/** The row tables that one slot reads in place: its own and those of the other slots. */
export class SlotRowTables {
  readonly directory = new StateCatalog()
  private readonly slot: number
  private readonly board: ProgressBoard
  private readonly report: (report: SlotReport) => void

  constructor(slot: number, board: ProgressBoard, report: (report: SlotReport) => void) {
    this.slot = slot
    this.board = board
    this.report = report
  }

  /** A report of the slot's keyed state: passes it on. The board counts a table before it is reported. */
  onOwn(report: SlotReport): void {
    if (report.kind === 'table-opened') {
      this.directory.add(report.share)
      this.board.countTableOpened(this.slot)
    } else if (report.kind === 'table-dropped') {
      const { operatorUid, state, version } = report
      this.directory.drop({ operatorUid, state, version, slot: this.slot })
    }
    this.report(report)
  }

  /** A change of another slot's tables; an opened table is acknowledged. */
  onPeer(command: PeerTableCommand): void {
    if (command.kind === 'peer-table-opened') {
      const { attempt, number, share } = command
      this.directory.add(share)
      this.report({ kind: 'peer-table-known', attempt, number })
    } else {
      this.directory.drop(command)
    }
  }
}
