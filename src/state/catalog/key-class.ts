import { keyGroupOfHash } from '../../core/key-group.ts'
import { RowTableReader } from '../rows/reader.ts'
import type { RowTableShare } from '../rows/share.ts'
import { reclaimTable } from './reclaim.ts'

const encoder = new TextEncoder()

/** One version of one vector state: a reader for each slot that has rows of it. */
export class StateVersion {
  readonly keyClass: KeyClass
  readonly version: number
  /** Open tables; another list after every change. */
  readers: readonly RowTableReader[] = []
  /** Floats of a row: versions of one state may differ. */
  dimension: number
  private readonly byKeyGroup: (RowTableReader | undefined)[]

  constructor(keyClass: KeyClass, version: number) {
    this.keyClass = keyClass
    this.version = version
    this.dimension = keyClass.dimension
    this.byKeyGroup = new Array<RowTableReader | undefined>(keyClass.maxParallelism).fill(undefined)
  }

  /** The table that has the key with this murmur3 hash (as int32); undefined where none is open. */
  readerOf(hash: number): RowTableReader | undefined {
    const { byKeyGroup } = this
    return byKeyGroup[keyGroupOfHash(hash, byKeyGroup.length)]
  }

  /** Reads the slot's rows with this reader, or not any more. */
  replace(slot: number, reader: RowTableReader | undefined): void {
    const others = this.readers.filter((other) => other.share.slot !== slot)
    this.readers = reader === undefined ? others : [...others, reader]
    if (reader !== undefined) this.dimension = reader.layout.dimension
    this.byKeyGroup.fill(undefined)
    for (const open of this.readers) {
      const { firstKeyGroup, lastKeyGroup } = open.share
      this.byKeyGroup.fill(open, firstKeyGroup, lastKeyGroup + 1)
    }
  }
}

/** One vector state of an operator. Of its queryable name it holds the keys that end in its suffix. */
export class KeyClass {
  readonly operatorUid: string
  readonly state: string
  readonly suffix: Uint8Array
  readonly meanKey: Uint8Array | undefined
  /** Floats of a row of the first version that was opened; `dimensionOf` says those of each. */
  readonly dimension: number
  readonly maxParallelism: number
  /** Versions with open tables. */
  readonly versions = new Map<number, StateVersion>()
  /** Slots that own key groups of this state here; another set after a change. */
  slots: ReadonlySet<number> = new Set()
  /** Slot that owns a key group, -1 if none here does. */
  private readonly slotOfGroup: Int32Array

  constructor(share: RowTableShare) {
    this.operatorUid = share.operatorUid
    this.state = share.state
    this.suffix = encoder.encode(share.keySuffix)
    this.meanKey = share.meanKey === undefined ? undefined : encoder.encode(share.meanKey)
    this.dimension = share.dimension
    this.maxParallelism = share.maxParallelism
    this.slotOfGroup = new Int32Array(share.maxParallelism).fill(-1)
  }

  /** Reads the rows of one slot and version in this table, instead of an earlier one. */
  open(share: RowTableShare): void {
    this.slotOfGroup.fill(share.slot, share.firstKeyGroup, share.lastKeyGroup + 1)
    this.slots = new Set(this.slotOfGroup.filter((slot) => slot >= 0))
    let version = this.versions.get(share.version)
    if (version === undefined) {
      version = new StateVersion(this, share.version)
      this.versions.set(share.version, version)
    }
    version.replace(share.slot, new RowTableReader(share))
  }

  /** Reads the slot's rows of the version no longer. The slot still owns its key groups. */
  drop(version: number, slot: number): void {
    const open = this.versions.get(version)
    const dropped = open?.readers.find(({ share }) => share.slot === slot)
    open?.replace(slot, undefined)
    if (dropped !== undefined) reclaimTable(dropped.share.memory)
    if (open?.readers.length === 0) this.versions.delete(version)
  }

  /** Floats of a row of a version; those of the first one for a version without open tables. */
  dimensionOf(version: number): number {
    return this.versions.get(version)?.dimension ?? this.dimension
  }

  /** The slot that owns a key with this hash (as int32), -1 if none here does. */
  slotOf(hash: number): number {
    return this.slotOfGroup[keyGroupOfHash(hash, this.maxParallelism)]!
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
