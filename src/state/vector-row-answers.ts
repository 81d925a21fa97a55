import { murmur3 } from '../core/murmur3.ts'
import { ROW_REFERENCE, ROW_STATE, STATE_LIVE } from './row-table-layout.ts'
import type { SlotQueryAnswer } from './slot-query.ts'
import { VECTOR_ROW_DELETED, vectorRowBytes } from './vector-row-codec.ts'
import type { VectorTable } from './vector-table.ts'

/**
 * Answers for rows of one table in the order of the keys, encoded. A row that only the store has is
 * answered from its bytes there and stays where it is: bringing it into memory would drive out
 * another one that is as likely to be asked for. It comes in when it is asked for a second time soon
 * after, or when `bring` says so.
 */
export function vectorRowAnswers(
  table: VectorTable,
  keys: readonly Uint8Array[],
  bring: boolean,
  restoring: boolean,
): SlotQueryAnswer[] {
  const hashes = Int32Array.from(keys, (key) => murmur3(key) | 0)
  const stored = table.spill?.fetchMissing(keys, hashes)
  const size = vectorRowBytes(table.context.layout.dimension)
  const answers: SlotQueryAnswer[] = []
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const value = stored?.[i]
    if (value === undefined) answers.push(answerInMemory(table, key, hashes[i]!, restoring))
    else if ((value[1]! & VECTOR_ROW_DELETED) !== 0) answers.push({ kind: 'missing', key })
    else {
      answers.push({
        kind: 'found',
        key,
        value: value.length === size ? value : value.subarray(0, size),
      })
    }
  }
  // Last, because a row that comes in may drive out one of those above.
  if (stored !== undefined) table.spill!.admitAsked(keys, hashes, stored, bring)
  return answers
}

function answerInMemory(
  table: VectorTable,
  key: Uint8Array,
  hash: number,
  restoring: boolean,
): SlotQueryAnswer {
  const row = table.rows.find(key, hash)
  if (row < 0) return { kind: restoring ? 'restoring' : 'missing', key }
  const { words } = table.rows.arena
  const header = table.rows.headerOf(row)
  words[header + ROW_REFERENCE] = 1
  if ((words[header + ROW_STATE]! & STATE_LIVE) === 0) return { kind: 'missing', key }
  return { kind: 'found', key, value: table.scratch.encode(row).slice() }
}
