import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { OpenedTables, TableReader } from '../../state/catalog/readers-are-up-to-date.ts'
import type { SlotHost } from '../protocol/slot-host.ts'
import type { SlotReport } from '../protocol/slot-messages.ts'

/** One slot: tables that it has reported, and those of other slots that were sent to it. */
interface Peer {
  reported: number
  sent: number
  acknowledged: number
}

/**
 * The row tables that the slots of one attempt read in place from each other: passes those of each
 * slot on to the other slots, and tracks which slot has acknowledged which tables.
 */
export class PeerTables {
  private readonly hosts: readonly SlotHost[]
  private readonly peers: readonly Peer[]
  /** Number of the last table of the attempt. */
  private last = 0

  constructor(hosts: readonly SlotHost[]) {
    this.hosts = hosts
    this.peers = hosts.map(() => ({ reported: 0, sent: 0, acknowledged: 0 }))
  }

  /** A report of a slot of the attempt; all but those about tables are ignored. */
  onReport(slot: number, report: SlotReport): void {
    const { attempt } = report
    switch (report.kind) {
      case 'table-opened': {
        const { share } = report
        const number = ++this.last
        this.peers[slot]!.reported++
        for (const [other, host] of this.others(slot)) {
          this.peers[other]!.sent = number
          host.send({ kind: 'peer-table-opened', attempt, number, share })
        }
        return
      }
      case 'table-dropped': {
        const { operatorUid, state, version } = report
        for (const [, host] of this.others(slot)) {
          host.send({ kind: 'peer-table-dropped', attempt, operatorUid, state, version, slot })
        }
        return
      }
      case 'peer-table-known':
        this.peers[slot]!.acknowledged = report.number
        return
      default:
    }
  }

  /** By slot, the tables that it has opened and reported. */
  opened(board: ProgressBoard): OpenedTables[] {
    return this.peers.map(({ reported }, slot) => ({ reported, opened: board.tablesOpened(slot) }))
  }

  /** By slot, which tables of the other slots it has acknowledged. */
  readers(): readonly TableReader[] {
    return this.peers
  }

  private others(slot: number): [number, SlotHost][] {
    return [...this.hosts.entries()].filter(([other]) => other !== slot)
  }
}
