import type { Random } from '../../src/core/random.ts'

export const SECTOR_BYTES = 512

/** The error of a system call. */
export function systemError(code: string, call: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, ${call} '${path}'`), {
    code,
    syscall: call,
    path,
  })
}

/** How much of what was not forced survives a power cut. */
export type Survival = 'none' | 'some' | 'all'

/** A change of a file that was not forced. */
type FileChange =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'size'; readonly size: number }

/** Bytes that grow by doubling. */
class GrowingBytes {
  size = 0
  private bytes = new Uint8Array(0)

  view(): Uint8Array {
    return this.bytes.subarray(0, this.size)
  }

  write(position: number, bytes: Uint8Array): void {
    this.reserve(position + bytes.length)
    this.bytes.set(bytes, position)
    this.size = Math.max(this.size, position + bytes.length)
  }

  resize(size: number): void {
    this.reserve(size)
    if (size < this.size) this.bytes.fill(0, size, this.size)
    this.size = size
  }

  copyOf(other: GrowingBytes): void {
    this.bytes = other.view().slice()
    this.size = other.size
  }

  private reserve(capacity: number): void {
    if (capacity <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(capacity, 2 * this.bytes.length))
    grown.set(this.view())
    this.bytes = grown
  }
}

/** A file: the bytes that processes see, and those that the disk keeps. */
export class SimulatedFile {
  accessedMs = 0
  modifiedMs = 0
  private readonly seen = new GrowingBytes()
  private readonly forced = new GrowingBytes()
  private unforced: FileChange[] = []

  /** The bytes that processes see. */
  get bytes(): Uint8Array {
    return this.seen.view()
  }

  write(position: number, bytes: Uint8Array): void {
    this.seen.write(position, bytes)
    this.unforced.push({ kind: 'write', position, bytes: bytes.slice() })
  }

  resize(size: number): void {
    this.seen.resize(size)
    this.unforced.push({ kind: 'size', size })
  }

  /** Forces all changes to the disk. */
  force(): void {
    for (const change of this.unforced.splice(0)) this.apply(change)
  }

  /**
   * A failed sync, as Linux has it: some changes reach the disk, the others are forgotten although
   * processes still see them.
   */
  forceFailed(random: Random): void {
    for (const change of this.unforced.splice(0)) this.survive(change, 'some', random)
  }

  /** Only what the disk keeps is left. */
  cut(survival: Survival, random: Random): void {
    for (const change of this.unforced.splice(0)) this.survive(change, survival, random)
    this.seen.copyOf(this.forced)
  }

  /** Damages one bit, on the disk too. */
  flip(position: number, bit: number): void {
    for (const bytes of [this.seen, this.forced]) {
      if (position < bytes.size) bytes.view()[position]! ^= 1 << bit
    }
  }

  private survive(change: FileChange, survival: Survival, random: Random): void {
    if (survival === 'none') return
    const dice = survival === 'all' ? 0 : random.next()
    if (dice < 0.4) this.apply(change)
    else if (dice < 0.6) this.tear(change, random)
  }

  /** Some sectors of a write survive; or only the size, with zeros in the place of the data. */
  private tear(change: FileChange, random: Random): void {
    if (change.kind === 'size') return
    const { position, bytes } = change
    const end = position + bytes.length
    if (random.below(4) === 0) {
      if (end > this.forced.size) this.forced.resize(end)
      return
    }
    for (let at = position; at < end; ) {
      const next = Math.min(end, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES)
      if (random.below(2) === 0) {
        this.forced.write(at, bytes.subarray(at - position, next - position))
      }
      at = next
    }
  }

  private apply(change: FileChange): void {
    if (change.kind === 'write') this.forced.write(change.position, change.bytes)
    else this.forced.resize(change.size)
  }
}

/** A file or a folder. */
export type SimulatedNode = SimulatedFile | SimulatedFolder

/** A rename: the disk never keeps that the old name is gone without keeping the new one. */
interface Move {
  readonly folder: SimulatedFolder
  readonly name: string
  readonly node: SimulatedNode
  /** Whether the disk keeps the new name. */
  kept: boolean
}

/** A change of a folder's entry that was not forced. */
interface EntryChange {
  readonly name: string
  /** Undefined when the entry was removed. */
  readonly node: SimulatedNode | undefined
  readonly move: Move | undefined
}

/** A folder: the entries that processes see, and those that the disk keeps. */
export class SimulatedFolder {
  readonly entries = new Map<string, SimulatedNode>()
  private readonly forced = new Map<string, SimulatedNode>()
  private unforced: EntryChange[] = []

  /** Adds, replaces or removes an entry. */
  set(name: string, node: SimulatedNode | undefined): void {
    this.change({ name, node, move: undefined })
  }

  /** Gives an entry another name, perhaps in another folder. */
  move(name: string, folder: SimulatedFolder, newName: string): void {
    const node = this.entries.get(name)!
    const move = { folder, name: newName, node, kept: false }
    folder.change({ name: newName, node, move })
    this.change({ name, node: undefined, move })
  }

  private change(change: EntryChange): void {
    setOrDelete(this.entries, change.name, change.node)
    this.unforced.push(change)
  }

  /** Forces all changes to the disk. */
  force(): void {
    for (const change of this.unforced.splice(0)) this.apply(change)
  }

  /** A failed sync: some changes reach the disk, the others are forgotten. */
  forceFailed(random: Random): void {
    for (const change of this.unforced.splice(0)) {
      if (random.below(2) === 0) this.apply(change)
    }
  }

  /** First step of a power cut: decides which new entries the disk keeps. */
  cutAdded(survival: Survival, random: Random): void {
    for (const change of this.unforced) {
      if (change.move !== undefined && change.node === undefined) continue
      if (survives(survival, random)) this.apply(change)
    }
  }

  /** Second step: decides which old names of moved nodes are gone. Only what the disk keeps is left. */
  cutMoved(survival: Survival, random: Random): void {
    for (const change of this.unforced.splice(0)) {
      if (change.node !== undefined || change.move?.kept !== true) continue
      if (survival === 'all' || survives(survival, random)) this.apply(change)
    }
    this.entries.clear()
    for (const [name, node] of this.forced) this.entries.set(name, node)
  }

  /** All files and folders that the disk may keep. */
  known(): Set<SimulatedNode> {
    const added = this.unforced.flatMap(({ node }) => (node === undefined ? [] : [node]))
    return new Set([...this.entries.values(), ...this.forced.values(), ...added])
  }

  private apply({ name, node, move }: EntryChange): void {
    if (move !== undefined) {
      if (node === undefined && !move.kept) setOrDelete(move.folder.forced, move.name, move.node)
      move.kept = true
    }
    setOrDelete(this.forced, name, node)
  }
}

function survives(survival: Survival, random: Random): boolean {
  return survival === 'all' || (survival === 'some' && random.below(2) === 0)
}

function setOrDelete<T>(map: Map<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) map.delete(name)
  else map.set(name, value)
}
