import { describe, expect, it } from 'vitest'
import { PeerTables } from '../../../src/runtime/job/peer-tables.ts'
import type { SlotHost } from '../../../src/runtime/protocol/slot-host.ts'
import type { SlotCommand, SlotReport } from '../../../src/runtime/protocol/slot-messages.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { readersAreUpToDate } from '../../../src/state/catalog/readers-are-up-to-date.ts'
import type { RowTableShare } from '../../../src/state/rows/share.ts'

function twoSlots() {
  const sent: [number, SlotCommand][] = []
  const host = (slot: number): SlotHost => ({
    remote: false,
    send: (command) => sent.push([slot, command]),
    kill() {},
    terminate: () => Promise.resolve(),
  })
  const tables = new PeerTables([host(0), host(1)])
  const board = ProgressBoard.create(2, 1)
  const isUpToDate = (): boolean =>
    readersAreUpToDate({ slots: tables.opened(board), readers: tables.readers() })
  return { tables, board, sent, isUpToDate }
}

const share = { slot: 0, state: 'rows' } as RowTableShare
const opened: SlotReport = { kind: 'table-opened', attempt: 1, share }

describe('the row tables of an attempt', () => {
  it('are sent to every slot but their own', () => {
    const { tables, sent } = twoSlots()
    tables.onReport(0, opened)
    expect(sent).toEqual([[1, { kind: 'peer-table-opened', attempt: 1, number: 1, share }]])
  })

  it('are dropped in every slot but their own', () => {
    const { tables, sent } = twoSlots()
    const table = { operatorUid: 'u', state: 'rows', version: 3 }
    tables.onReport(1, { kind: 'table-dropped', attempt: 1, ...table })
    expect(sent).toEqual([[0, { kind: 'peer-table-dropped', attempt: 1, ...table, slot: 1 }]])
  })

  it('are known once they are reported and the other slots have acknowledged them', () => {
    const { tables, board, isUpToDate } = twoSlots()
    expect(isUpToDate()).toBe(true)
    board.countTableOpened(0)
    expect(isUpToDate()).toBe(false)
    tables.onReport(0, opened)
    expect(isUpToDate()).toBe(false)
    tables.onReport(1, { kind: 'peer-table-known', attempt: 1, number: 1 })
    expect(isUpToDate()).toBe(true)
  })

  it('are counted from 0 when a slot begins again', () => {
    const { board } = twoSlots()
    board.countTableOpened(1)
    board.countTableOpened(1)
    expect([board.tablesOpened(0), board.tablesOpened(1)]).toEqual([0, 2])
    board.beginSlotIncarnation(1, 1)
    expect(board.tablesOpened(1)).toBe(0)
  })
})
