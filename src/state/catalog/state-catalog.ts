import type { RowTableShare } from '../rows/share.ts'
import type { SlotTables } from './job-catalog.ts'
import { KeyClass, type StateVersion } from './key-class.ts'
import type { ProgressBoard } from './progress-board.ts'
import type { TypedStateShare } from './typed-state-share.ts'

/** The table of one state, version and slot. */
export type TableId = Pick<RowTableShare, 'operatorUid' | 'state' | 'version' | 'slot'>

/** All vector states of one queryable name, longest key suffix first. */
export class QueryableState {
  readonly name: string
  keyClasses: readonly KeyClass[] = []

  constructor(name: string) {
    this.name = name
  }

  /** Loaded versions, ascending. */
  versions(): number[] {
    const all = new Set(this.keyClasses.flatMap(({ versions }) => [...versions.keys()]))
    return [...all].sort((a, b) => a - b)
  }

  /** The state that the key belongs to; undefined when its suffix is none of theirs. */
  keyClassOf(bytes: Uint8Array, at: number, length: number): KeyClass | undefined {
    for (const keyClass of this.keyClasses) {
      if (keyClass.hasKey(bytes, at, length) || keyClass.isMeanKey(bytes, at, length)) {
        return keyClass
      }
    }
    return undefined
  }

  /** Puts `keyClass` in the place of `before`. */
  replace(before: KeyClass | undefined, keyClass: KeyClass): void {
    const others = this.keyClasses.filter((other) => other !== before)
    this.keyClasses = [...others, keyClass].sort((a, b) => b.suffix.length - a.suffix.length)
  }
}

/**
 * What one thread can read of a job: the row tables of all slots in place, by operator or by queryable
 * name, and the slots that hold typed state. Tables are added and dropped while the job runs. A table
 * of the same state, version and slot replaces the one before (a restarted attempt). Query threads and
 * slots have one catalog each.
 */
export class StateCatalog {
  private readonly keyClasses = new Map<string, KeyClass>()
  private readonly states = new Map<string, QueryableState>()
  private readonly typed = new Map<string, TypedStateShare[]>()
  /** By slot, which of its tables have been added; undefined for a slot that never ran. */
  private readonly slotTables: (SlotTables | undefined)[] = []
  /** Grows with every change: what was looked up before may be stale. */
  changes = 0

  /** Opens a table. */
  add(share: RowTableShare): void {
    this.changes++
    this.keyClassOf(share).open(share)
  }

  private keyClassOf(share: RowTableShare): KeyClass {
    const known = this.keyClass(share.operatorUid, share.state)
    if (known !== undefined && known.maxParallelism === share.maxParallelism) return known
    const keyClass = new KeyClass(share)
    this.keyClasses.set(idOf(share.operatorUid, share.state), keyClass)
    if (share.queryableName !== undefined) this.named(share.queryableName).replace(known, keyClass)
    return keyClass
  }

  private named(name: string): QueryableState {
    let state = this.states.get(name)
    if (state === undefined) {
      state = new QueryableState(name)
      this.states.set(name, state)
    }
    return state
  }

  /** Closes the table of a slot's state version. */
  drop({ operatorUid, state, version, slot }: TableId): void {
    this.changes++
    this.keyClass(operatorUid, state)?.drop(version, slot)
  }

  /** The tables added so far are all that the running slot has opened. */
  setSlotTables(tables: SlotTables): void {
    this.slotTables[tables.slot] = tables
  }

  /**
   * Whether the slot's tables here are those of its present incarnation. A slot that restores is read in
   * the tables of an earlier one.
   */
  knowsIncarnation(slot: number, board: ProgressBoard): boolean {
    return (this.slotTables[slot]?.incarnation ?? 0) === board.slotIncarnation(slot)
  }

  /**
   * Whether every table is known here that the slot has opened in its present incarnation. Then progress
   * of the slot that the caller has read before holds for what is read here.
   */
  knowsTables(slot: number, board: ProgressBoard): boolean {
    if (!this.knowsIncarnation(slot, board)) return false
    return (this.slotTables[slot]?.opened ?? 0) >= board.tablesOpened(slot)
  }

  /** Adds a slot's part of a typed state. */
  addTyped(share: TypedStateShare): void {
    this.changes++
    const others = this.typedState(share.queryableName).filter(({ slot }) => slot !== share.slot)
    this.typed.set(share.queryableName, [...others, share])
  }

  /** A vector state of an operator; undefined before its first table was opened. */
  keyClass(operatorUid: string, state: string): KeyClass | undefined {
    return this.keyClasses.get(idOf(operatorUid, state))
  }

  /** A version of an operator's state; undefined while no table of it is open. */
  version(operatorUid: string, state: string, version: number): StateVersion | undefined {
    return this.keyClass(operatorUid, state)?.versions.get(version)
  }

  /** The vector states of a queryable name. */
  state(name: string): QueryableState | undefined {
    return this.states.get(name)
  }

  /** Names of all queryable states, sorted. */
  names(): string[] {
    return [...this.states.keys(), ...this.typed.keys()].sort()
  }

  /** The parts of a typed state; empty when it is not known. */
  typedState(name: string): readonly TypedStateShare[] {
    return this.typed.get(name) ?? []
  }
}

function idOf(operatorUid: string, state: string): string {
  return `${operatorUid}\n${state}`
}
