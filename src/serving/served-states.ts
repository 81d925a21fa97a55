import type { RowTableShare } from '../state/row-table-share.ts'
import type { QueryableStateInfo } from '../wire/routing-table.ts'
import type { TypedStateShare } from './local-catalog.ts'

/** A row table of one attempt of its slot. */
export interface OpenTable {
  readonly share: RowTableShare
  readonly attempt: number
}

/** What became of a dropped table. */
export type DropOutcome =
  /** It was not the one that is read. */
  | { readonly kind: 'unread' }
  /** A newer attempt's table takes its place. */
  | { readonly kind: 'replaced'; readonly by: OpenTable }
  | { readonly kind: 'gone' }

/**
 * What can be read of a job, over attempts: of one state, version and slot the oldest open table is
 * the one that is read, because a newer one is still being restored.
 */
export class ServedStates {
  /** Open tables of one state, version and slot, oldest attempt first. */
  private readonly openTables = new Map<string, OpenTable[]>()
  private readonly typedStates = new Map<string, TypedStateShare>()

  /** Notes a table; true when it is the one to read. */
  open(table: OpenTable): boolean {
    const id = idOf(table.share)
    const tables = this.openTables.get(id) ?? []
    const at = tables.findIndex((other) => other.attempt > table.attempt)
    tables.splice(at < 0 ? tables.length : at, 0, table)
    this.openTables.set(id, tables)
    return tables[0] === table
  }

  /** Forgets a table. */
  drop(table: OpenTable): DropOutcome {
    const id = idOf(table.share)
    const tables = this.openTables.get(id) ?? []
    const at = tables.findIndex((other) => other.attempt === table.attempt)
    if (at < 0) return { kind: 'unread' }
    tables.splice(at, 1)
    if (at > 0) return { kind: 'unread' }
    const by = tables[0]
    if (by !== undefined) return { kind: 'replaced', by }
    this.openTables.delete(id)
    return { kind: 'gone' }
  }

  /** Notes a slot's part of a typed state. */
  declare(share: TypedStateShare): void {
    this.typedStates.set(`${share.slot}\n${share.queryableName}`, share)
  }

  /** The tables to read. */
  tables(): OpenTable[] {
    return [...this.openTables.values()].map((tables) => tables[0]!)
  }

  /** Parts of typed states. */
  typed(): TypedStateShare[] {
    return [...this.typedStates.values()]
  }

  /** What clients are told; `liveVersionOf` gives 0 for a name without a live version. */
  infos(liveVersionOf: (name: string) => number): QueryableStateInfo[] {
    const infos = new Map<string, QueryableStateInfo>()
    for (const { share } of this.tables()) {
      const name = share.queryableName
      if (name === undefined) continue
      const known = infos.get(name)?.versions ?? []
      infos.set(name, {
        name,
        kind: 'vector',
        dimension: share.dimension,
        versions: [...new Set([...known, share.version])].sort((a, b) => a - b),
        liveVersion: liveVersionOf(name),
      })
    }
    for (const { queryableName: name, kind } of this.typedStates.values()) {
      infos.set(name, { name, kind, dimension: 0, versions: [], liveVersion: 0 })
    }
    return [...infos.values()]
  }
}

function idOf(share: RowTableShare): string {
  return `${share.operatorUid}\n${share.state}\n${share.version}\n${share.slot}`
}
