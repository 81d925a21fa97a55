import type { RowTableDirectory } from '../state/row-table-directory.ts'
import type { SlotCommand, SlotReport } from './slot-protocol.ts'

/** Keeps a slot's directory of row tables: its own, as it reports them, and those of the others. */
export function noteRowTable(
  directory: RowTableDirectory,
  message: SlotReport | SlotCommand,
  ownSlot: number,
): void {
  switch (message.kind) {
    case 'table-opened':
    case 'peer-table-opened':
      directory.add(message.share)
      return
    case 'table-dropped':
    case 'peer-table-dropped': {
      const slot = message.kind === 'table-dropped' ? ownSlot : message.slot
      directory.drop(message.operatorUid, message.state, message.version, slot)
      return
    }
    default:
      return
  }
}
