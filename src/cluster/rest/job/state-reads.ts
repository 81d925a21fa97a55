import { WeirError } from '../../../core/errors.ts'
import { readableKey } from '../../../core/formats/key-text.ts'
import { readableValue } from '../../../core/formats/readable-value.ts'
import type { ModelReader, QueryOptions } from '../../../wire/model-reader.ts'
import type { QueryableStateInfo } from '../../../wire/routing-table.ts'
import type { EntryRequest, EntryView, RowsRequest, RowsView } from '../port/job-data.ts'

/** As the bound of a range it comes after all keys, see `key-text.ts`. */
const AFTER_ALL_KEYS = '\u{10ffff}'

/** The row or value of one key. Throws UNKNOWN_STATE, UNKNOWN_KEY, UNKNOWN_VERSION. */
export async function readEntry(
  reader: ModelReader,
  states: readonly QueryableStateInfo[],
  { state, key, version, consistency }: EntryRequest,
): Promise<EntryView> {
  const info = stateNamed(states, state)
  const { kind } = info
  const options: QueryOptions = {
    ...(version === undefined ? {} : { version }),
    ...(consistency === undefined ? {} : { consistency }),
  }
  const [answer] =
    kind === 'vector'
      ? await reader.rows(state, [key], options)
      : await reader.values(state, [key], options)
  if (!answer!.ok) throw answer!.error
  const { value, envelope } = answer!
  const shown = value instanceof Float32Array ? [...value] : readableValue(value, info)
  return { key, value: shown, envelope, slot: slotOf(envelope.servedBy) }
}

/** A page of a state's rows or values. Throws as `readEntry`. */
export async function readRows(
  reader: ModelReader,
  states: readonly QueryableStateInfo[],
  { state, after, limit, version }: RowsRequest,
): Promise<RowsView> {
  const info = stateNamed(states, state)
  const { kind } = info
  const from = after === '' ? '' : `${after}\0`
  const range = { from, to: AFTER_ALL_KEYS, limit: limit + 1 }
  const found = await reader.scan(state, range, version === undefined ? {} : { version })
  const rows = found.slice(0, limit).map(({ key, value }) => ({
    key: readableKey(key),
    value: kind === 'vector' ? floatsOf(value) : readableValue(value, info),
  }))
  return { rows, next: found.length > limit ? (found[limit - 1]?.key ?? null) : null }
}

/** Throws UNKNOWN_STATE. */
function stateNamed(states: readonly QueryableStateInfo[], name: string): QueryableStateInfo {
  const found = states.find((state) => state.name === name)
  if (found !== undefined) return found
  const names = states.map((state) => state.name).join(', ') || 'none'
  throw new WeirError(
    'UNKNOWN_STATE',
    `no queryable state is named "${name}"; the states are ${names}`,
  )
}

/** The floats of a row; its bytes need not be aligned. */
function floatsOf(bytes: Uint8Array): readonly number[] {
  return [...new Float32Array(bytes.slice().buffer)]
}

/** The slot in `<server>/<slot>`. */
function slotOf(servedBy: string): number | null {
  const slot = /\/(\d+)$/.exec(servedBy)?.[1]
  return slot === undefined ? null : Number(slot)
}
