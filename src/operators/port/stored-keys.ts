import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { ABOUT_STATE, type OperatorStateStore } from './operator-state.ts'

/*
 * The serializer of the keys of an operator's state, an entry of its operator state:
 *
 *   | id: varuint length, UTF-8 |
 */

/** Name of the operator state that holds the id. */
export const STORED_KEYS = `${ABOUT_STATE}keys`

/** Stores the id of the serializer of an operator's keys with its next snapshots. */
export function storeKeyFormat(operatorState: OperatorStateStore, keyFormat: string): void {
  operatorState.update(STORED_KEYS, 'union', [keyFormatEntry(keyFormat)])
}

/** The entry of an id. */
export function keyFormatEntry(keyFormat: string): Uint8Array {
  const writer = new ByteWriter(32)
  writer.text(keyFormat)
  return writer.toBytes()
}

/**
 * Stores the id of the serializer of keys, where it is known. Throws STATE_CONFLICT where the restored keys were written
 * by another one: their bytes, and so the key groups that they are in, would be others. Checkpoints of former releases do
 * not say it.
 */
export function keepKeyFormat(
  uid: string,
  operatorState: OperatorStateStore,
  keyFormat: string | undefined,
): void {
  const restored = operatorState.restored(STORED_KEYS)
  if (keyFormat === undefined) return
  for (const entry of restored) {
    const stored = new ByteReader(entry).text()
    if (stored !== keyFormat) throw otherKeys(uid, stored, keyFormat)
  }
  storeKeyFormat(operatorState, keyFormat)
}

function otherKeys(uid: string, stored: string, keyFormat: string): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `the keys of operator "${uid}" are ${stored} in the checkpoint and ${keyFormat} in the job, so that no record would find its state; give keyBy the serializer that it had, or write the state by its new keys with SavepointReader and SavepointWriter (docs/guide/state-evolution.md)`,
    { details: { operator: uid } },
  )
}
