import { RowTableReader } from '../state/row-table-reader.ts'
import type { RowTableShare } from '../state/row-table-share.ts'

const encoder = new TextEncoder()

/** A typed queryable state's part on one slot: it cannot be read in place, its slot is asked. */
export interface TypedStateShare {
  readonly queryableName: string
  /** Kind of its descriptor. */
  readonly kind: string
  readonly slot: number
  readonly firstKeyGroup: number
  readonly lastKeyGroup: number
  readonly maxParallelism: number
}

/** One version of one vector state: a reader per slot. */
export class LocalVersion {
  readonly side: LocalSide
  readonly version: number
  /** Open tables. */
  readers: readonly RowTableReader[] = []
  /** By key group; undefined where no table of this version covers it. */
  readonly byKeyGroup: (RowTableReader | undefined)[]

  constructor(side: LocalSide, version: number) {
    this.side = side
    this.version = version
    this.byKeyGroup = new Array<RowTableReader | undefined>(side.maxParallelism).fill(undefined)
  }

  /** The table that has the key with this murmur3 hash (as int32), if it is open. */
  readerOf(hash: number): RowTableReader | undefined {
    return this.byKeyGroup[(hash >>> 0) % this.byKeyGroup.length]
  }

  replace(slot: number, reader: RowTableReader | undefined): void {
    const others = this.readers.filter((other) => other.share.slot !== slot)
    this.readers = reader === undefined ? others : [...others, reader]
    this.byKeyGroup.fill(undefined)
    for (const open of this.readers) {
      const { firstKeyGroup, lastKeyGroup } = open.share
      this.byKeyGroup.fill(open, firstKeyGroup, lastKeyGroup + 1)
    }
  }
}

/** One vector state (an operator's): the keys of a queryable name that end in its suffix. */
export class LocalSide {
  readonly operatorUid: string
  readonly state: string
  readonly suffix: Uint8Array
  readonly meanKey: Uint8Array | undefined
  readonly dimension: number
  readonly maxParallelism: number
  readonly versions = new Map<number, LocalVersion>()
  /** Slot that owns a key group, -1 if none here does. */
  readonly slotOfGroup: Int32Array

  constructor(share: RowTableShare) {
    this.operatorUid = share.operatorUid
    this.state = share.state
    this.suffix = encoder.encode(share.keySuffix)
    this.meanKey = share.meanKey === undefined ? undefined : encoder.encode(share.meanKey)
    this.dimension = share.dimension
    this.maxParallelism = share.maxParallelism
    this.slotOfGroup = new Int32Array(share.maxParallelism).fill(-1)
  }

  /** Slots that own key groups of this state here. */
  get slots(): ReadonlySet<number> {
    const slots = new Set(this.slotOfGroup)
    slots.delete(-1)
    return slots
  }

  /** The slot that owns a key with this hash (as int32), -1 if none here does. */
  slotOf(hash: number): number {
    return this.slotOfGroup[(hash >>> 0) % this.maxParallelism]!
  }

  /** Whether `bytes[at .. at + length)` is a key of this state. */
  hasKey(bytes: Uint8Array, at: number, length: number): boolean {
    const suffix = this.suffix
    const from = at + length - suffix.length
    if (from < at) return false
    for (let i = 0; i < suffix.length; i++) if (bytes[from + i] !== suffix[i]) return false
    return true
  }

  /** Whether the bytes are the key of the mean row. */
  isMeanKey(bytes: Uint8Array, at: number, length: number): boolean {
    const mean = this.meanKey
    if (mean === undefined || mean.length !== length) return false
    for (let i = 0; i < length; i++) if (bytes[at + i] !== mean[i]) return false
    return true
  }
}

/** All vector states of one queryable name, longest suffix first. */
export class LocalState {
  readonly name: string
  sides: readonly LocalSide[] = []

  constructor(name: string) {
    this.name = name
  }

  /** Loaded versions, ascending. */
  versions(): number[] {
    const all = new Set(this.sides.flatMap((side) => [...side.versions.keys()]))
    return [...all].sort((a, b) => a - b)
  }

  /** The state that the key belongs to; undefined when its suffix is none of theirs. */
  sideOf(bytes: Uint8Array, at: number, length: number): LocalSide | undefined {
    for (const side of this.sides) {
      if (side.hasKey(bytes, at, length) || side.isMeanKey(bytes, at, length)) return side
    }
    return undefined
  }
}

/**
 * What can be read in this process: row tables by queryable name, key suffix, version and key group,
 * and who owns typed state. Tables come and go at run time; a table of the same state, version and
 * slot replaces the one before (a restarted attempt). One catalog per thread.
 */
export class LocalCatalog {
  private readonly states = new Map<string, LocalState>()
  private readonly typed = new Map<string, TypedStateShare[]>()
  /** Grows with every change, so that what was resolved can be told from what is. */
  changes = 0

  /** Opens a table; tables of states that are not queryable are left out. */
  add(share: RowTableShare): void {
    if (share.queryableName === undefined) return
    this.changes++
    const side = this.sideOf(share, share.queryableName)
    side.slotOfGroup.fill(share.slot, share.firstKeyGroup, share.lastKeyGroup + 1)
    let version = side.versions.get(share.version)
    if (version === undefined) {
      version = new LocalVersion(side, share.version)
      side.versions.set(share.version, version)
    }
    version.replace(share.slot, new RowTableReader(share))
  }

  private sideOf(share: RowTableShare, name: string): LocalSide {
    let state = this.states.get(name)
    if (state === undefined) {
      state = new LocalState(name)
      this.states.set(name, state)
    }
    const known = state.sides.find(
      (side) => side.operatorUid === share.operatorUid && side.state === share.state,
    )
    if (known !== undefined && known.maxParallelism === share.maxParallelism) return known
    const side = new LocalSide(share)
    const others = state.sides.filter((other) => other !== known)
    state.sides = [...others, side].sort((a, b) => b.suffix.length - a.suffix.length)
    return side
  }

  /** Closes the table of a slot's state version. */
  drop(operatorUid: string, state: string, version: number, slot: number): void {
    this.changes++
    for (const { sides } of this.states.values()) {
      for (const side of sides) {
        if (side.operatorUid !== operatorUid || side.state !== state) continue
        const open = side.versions.get(version)
        open?.replace(slot, undefined)
        if (open?.readers.length === 0) side.versions.delete(version)
      }
    }
  }

  /** Makes a slot's part of a typed state known. */
  addTyped(share: TypedStateShare): void {
    this.changes++
    const others = (this.typed.get(share.queryableName) ?? []).filter(
      (other) => other.slot !== share.slot,
    )
    this.typed.set(share.queryableName, [...others, share])
  }

  /** Forgets all that a slot served, because its attempt ended. */
  dropSlot(slot: number): void {
    this.changes++
    for (const { sides } of this.states.values()) {
      for (const side of sides) {
        side.slotOfGroup.forEach((owner, group) => {
          if (owner === slot) side.slotOfGroup[group] = -1
        })
        for (const [version, open] of side.versions) {
          open.replace(slot, undefined)
          if (open.readers.length === 0) side.versions.delete(version)
        }
      }
    }
    for (const [name, shares] of this.typed) {
      this.typed.set(
        name,
        shares.filter((share) => share.slot !== slot),
      )
    }
  }

  /** The vector states of a queryable name. */
  state(name: string): LocalState | undefined {
    return this.states.get(name)
  }

  /** The parts of a typed state; empty when it is not known. */
  typedState(name: string): readonly TypedStateShare[] {
    return this.typed.get(name) ?? []
  }

  /** All vector states. */
  vectorStates(): IterableIterator<LocalState> {
    return this.states.values()
  }

  /** All typed states by name. */
  typedStates(): IterableIterator<readonly [string, readonly TypedStateShare[]]> {
    return this.typed.entries()
  }
}
