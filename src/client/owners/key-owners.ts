import { isWeirError, type WeirError } from '../../core/errors.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../core/key-group.ts'
import type { Answer } from '../../wire/model-reader.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'
import { otherReading } from '../../wire/state/asked-key.ts'
import { askedKey } from '../../wire/state/formatted-key.ts'

/** Keys that one server is asked for. */
export interface OwnedKeys {
  /** `host:port`; undefined where any server may be asked, which says who owns them. */
  readonly endpoint: string | undefined
  /** Places of the keys in the list that is asked for. */
  readonly places: readonly number[]
}

/** Keys of a state of which some are still to be asked for. */
export interface AskedKeys {
  readonly state: string
  readonly keys: readonly string[]
  /** Places of those that are still open. */
  readonly open: readonly number[]
  /** What was answered so far: a NOT_OWNER may name the owner, who counts more than the table. */
  readonly answers: readonly (Answer<unknown> | undefined)[]
}

/** The open keys by the server that owns them. Of a job in one process, all of them for any server. */
export function groupsByOwner(
  table: RoutingTable | undefined,
  { state, keys, open, answers }: AskedKeys,
): OwnedKeys[] {
  if (table?.shares === undefined) return [{ endpoint: undefined, places: open }]
  const groups = Map.groupBy(open, (at) => {
    const answer = answers[at]
    const named = answer?.ok === false ? hintOf(answer.error) : undefined
    return named ?? ownerOf(table, state, keys[at]!)
  })
  return Array.from(groups, ([endpoint, places]) => ({ endpoint, places }))
}

/** The server that owns a key by the table; undefined where the table does not say. */
export function ownerOf(
  { shares, states, endpoints }: RoutingTable,
  state: string,
  key: string,
): string | undefined {
  const info = states.find(({ name }) => name === state)
  const { keyGroups } = info ?? {}
  if (shares === undefined || keyGroups === undefined) return undefined
  const group = keyGroupOf(askedKey(key, info?.keyFormat), keyGroups)
  const partition = subtaskOfKeyGroup(group, shares.partitions, keyGroups)
  const owner = endpoints[shares.owners[partition] ?? -1]
  return owner === undefined ? undefined : `${owner.host}:${owner.port}`
}

/**
 * The keys that were not found and whose texts can be read in two ways, with the other way: another server may own
 * that one. None of a job in one process, whose server looks at both.
 */
export function otherReadings(
  table: RoutingTable | undefined,
  { state, keys, answers }: Omit<AskedKeys, 'open'>,
): { readonly at: number; readonly text: string; readonly other: string }[] {
  const info = table?.states.find(({ name }) => name === state)
  if (table?.shares === undefined || info === undefined || info.kind === 'vector') return []
  return keys.flatMap((text, at) => {
    const answer = answers[at]
    if (answer?.ok !== false || answer.error.code !== 'UNKNOWN_KEY') return []
    const other = otherReading(text, info.keyFormat)
    return other === undefined ? [] : [{ at, text, other }]
  })
}

/**
 * The table of a job in many processes from those of several of them: the owners of the newest generation, and the
 * states that any of them knows. A process knows those of job partitions that it has run.
 */
export function mergedTable(tables: readonly RoutingTable[]): RoutingTable {
  const [newest, ...others] = tables.toSorted((a, b) => b.epoch - a.epoch)
  const states = new Map(newest!.states.map((state) => [state.name, state]))
  for (const { states: more } of others) {
    for (const state of more) if (!states.has(state.name)) states.set(state.name, state)
  }
  return { ...newest!, states: [...states.values()] }
}

/** The server (`host:port`) that a NOT_OWNER answer names. */
export function hintOf(error: WeirError | undefined): string | undefined {
  if (!isWeirError(error, 'NOT_OWNER')) return undefined
  const endpoint = error.details['endpoint']
  return typeof endpoint === 'string' ? endpoint : undefined
}
