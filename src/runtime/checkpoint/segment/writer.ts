import { crc32 } from 'node:zlib'
import { WeirError } from '../../../core/errors.ts'
import { crc32Combine } from '../../../core/hash/crc32-combine.ts'
import type { KeyGroupRange } from '../../../core/key-group.ts'
import type { ChangeSink, EntrySpan, StateName } from '../../../state/port/change.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage, StorageWriter } from '../storage/checkpoint-storage.ts'
import { type SealedBlock, SegmentBlockBuilder } from './block.ts'
import { type BlockIndex, encodeSegmentEnd, encodeSegmentHeader } from './format.ts'

/** Options of a segment writer. */
export interface SegmentWriterOptions {
  readonly storage: CheckpointStorage
  /** From `segmentPath`; a path that was never used before. */
  readonly path: string
  /** Key groups that entries may have. */
  readonly keyGroups: KeyGroupRange
  /** Size of a block before it is written. @default 1 MiB */
  readonly blockBytes?: number
  /** Full blocks that may wait for storage until `ready()` turns false. @default 3 */
  readonly maxPendingBlocks?: number
  /**
   * Empty blocks that writers of the same key groups and block size reuse: to grow a new block costs as
   * much time as to fill it. @default none
   */
  readonly idle?: SegmentBlockBuilder[]
}

/** Facts about a segment that are known when it is finished. */
export interface SegmentCompletion {
  readonly checkpointId: number
  /** @default 0 */
  readonly sequence?: number
  /**
   * Whether it holds all state of its key groups. A full segment needs a new writer, because entries
   * that were spilled before it may have keys that were deleted since. It is written even if it is
   * empty, because it begins a new chain.
   */
  readonly full: boolean
}

/**
 * Writes one segment. `append` copies and never blocks; full blocks are written in the background, in
 * order. The producer must stop while `ready()` is false, which bounds memory to
 * (maxPendingBlocks + 1) x 2 x blockBytes. `finish` throws a storage failure; entries appended after
 * the failure are dropped, because the segment is lost and the next snapshot must be full. Nothing is
 * created in storage before the first full block or `finish`.
 */
export class SegmentWriter implements ChangeSink {
  /** Path of the segment. */
  readonly path: string
  private readonly storage: CheckpointStorage
  private readonly keyGroups: KeyGroupRange
  private readonly blockBytes: number
  private readonly maxPendingBlocks: number
  private readonly stateIndex = new Map<StateName, number>()
  private readonly names: StateName[] = []
  private readonly blocks: BlockIndex[] = []
  private readonly idle: SegmentBlockBuilder[]
  private readonly waiters: (() => void)[] = []
  private block: SegmentBlockBuilder | undefined
  private file: StorageWriter | undefined
  private tail: Promise<void> = Promise.resolve()
  private pendingBlocks = 0
  private failure: unknown
  private failed = false
  private state: 'open' | 'finished' | 'aborted' = 'open'
  private written = 0
  private crc = 0
  /** Entries appended so far, deleted ones included. */
  entries = 0

  constructor(options: SegmentWriterOptions) {
    this.path = options.path
    this.storage = options.storage
    this.keyGroups = options.keyGroups
    this.blockBytes = options.blockBytes ?? 1024 * 1024
    this.maxPendingBlocks = options.maxPendingBlocks ?? 3
    this.idle = options.idle ?? []
  }

  /** Copies one entry. Throws ILLEGAL_STATE after `finish` or `abort`. */
  append(keyGroup: number, state: StateName, key: Uint8Array, value: Uint8Array | undefined): void {
    if (this.state !== 'open') throw this.illegal('append to')
    if (this.failed) return
    const block = this.block ?? this.openBlock()
    block.append(keyGroup, this.stateIndex.get(state) ?? this.addState(state), key, value)
    this.entries += 1
    if (block.full) this.flush(block)
  }

  /** As `append`, for an entry in place in another segment. */
  appendSpan(keyGroup: number, state: StateName, entry: EntrySpan): void {
    if (this.state !== 'open') throw this.illegal('append to')
    if (this.failed) return
    const block = this.block ?? this.openBlock()
    block.appendSpan(keyGroup, this.stateIndex.get(state) ?? this.addState(state), entry)
    this.entries += 1
    if (block.full) this.flush(block)
  }

  /** Whether the producer may append more. */
  ready(): boolean {
    return this.failed || this.pendingBlocks < this.maxPendingBlocks
  }

  /** Resolves when `ready()` is true. */
  async whenReady(): Promise<void> {
    while (!this.ready()) await new Promise<void>((resolve) => this.waiters.push(resolve))
  }

  /** Writes the rest and makes the file durable. Throws STORAGE_FAILED. */
  async finish(completion: SegmentCompletion): Promise<SegmentReference> {
    if (this.state !== 'open') throw this.illegal('finish')
    this.state = 'finished'
    try {
      if (this.block !== undefined && this.block.entries > 0) this.flush(this.block)
      await this.tail
      if (this.failed) throw this.failure
      return await this.writeEnd(completion)
    } catch (error) {
      await this.discard()
      throw error
    }
  }

  /** Aborts the segment and removes what was written; idempotent, harmless after `finish`. */
  async abort(): Promise<void> {
    if (this.state !== 'open') return
    this.state = 'aborted'
    await this.tail
    await this.discard()
  }

  private async discard(): Promise<void> {
    // A file that cannot be removed is an orphan, which the next sweep deletes; the first error counts.
    await this.file?.abort().catch(() => {})
    this.block = undefined
  }

  private openBlock(): SegmentBlockBuilder {
    this.block = this.idle.pop() ?? new SegmentBlockBuilder(this.keyGroups, this.blockBytes)
    return this.block
  }

  private addState(state: StateName): number {
    const index = this.names.push(state) - 1
    this.stateIndex.set(state, index)
    return index
  }

  private flush(block: SegmentBlockBuilder): void {
    const sealed = block.seal()
    this.blocks.push({ entries: sealed.entries, slices: sealed.slices })
    this.block = undefined
    this.pendingBlocks += 1
    this.tail = this.tail.then(() => this.writeBlock(block, sealed))
  }

  private async writeBlock(block: SegmentBlockBuilder, sealed: SealedBlock): Promise<void> {
    try {
      if (!this.failed && this.state !== 'aborted') await this.writeSealed(sealed)
    } catch (error) {
      this.failed = true
      this.failure = error
    }
    block.reset()
    if (this.idle.length < this.maxPendingBlocks) this.idle.push(block)
    this.pendingBlocks -= 1
    for (const wake of this.waiters.splice(0)) wake()
  }

  private async writeSealed({ bytes, slices }: SealedBlock): Promise<void> {
    const file = this.file ?? (await this.open())
    // A block consists of its slices, whose checksums are known: no byte is read twice.
    for (const slice of slices) this.crc = crc32Combine(this.crc, slice.crc, slice.bytes)
    this.written += bytes.length
    await file.write(bytes)
  }

  /** Creates and begins the file. */
  private async open(): Promise<StorageWriter> {
    const file = await this.storage.createWriter(this.path)
    this.file = file
    const header = encodeSegmentHeader()
    this.crc = crc32(header)
    this.written = header.length
    await file.write(header)
    return file
  }

  private async writeEnd(completion: SegmentCompletion): Promise<SegmentReference> {
    const file = this.file ?? (await this.open())
    const end = encodeSegmentEnd({ names: this.names, blocks: this.blocks }, this.crc)
    await file.write(end.bytes)
    await file.commit()
    return {
      path: this.path,
      bytes: this.written + end.bytes.length,
      checksum: end.checksum,
      entries: this.entries,
      keyGroups: this.keyGroups,
      checkpointId: completion.checkpointId,
      sequence: completion.sequence ?? 0,
      full: completion.full,
    }
  }

  private illegal(verb: string): WeirError {
    return new WeirError(
      'ILLEGAL_STATE',
      `cannot ${verb} segment ${this.path}: it is ${this.state}`,
    )
  }
}
