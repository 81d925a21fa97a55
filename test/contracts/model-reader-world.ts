import { systemClock } from '../../src/core/clock.ts'
import { WeirError } from '../../src/core/errors.ts'
import { keyGroupOf, keyGroupRangeOf, subtaskOfKeyGroup } from '../../src/core/key-group.ts'
import type { ModelVersion } from '../../src/core/model-version.ts'
import { itemTagRows, tagNameRows } from '../../src/jobs/als-serving/tag-states.ts'
import { tagRow } from '../../src/models/item-tags.ts'
import type { SlotQueryClient } from '../../src/serving/catalog/slot-asker.ts'
import { LocalModelReader } from '../../src/serving/reader/model-reader.ts'
import { ProgressBoard } from '../../src/state/catalog/progress-board.ts'
import {
  packSlotQueryReply,
  type SlotQueryReplyMessage,
} from '../../src/state/catalog/slot-query-message.ts'
import { StateCatalog } from '../../src/state/catalog/state-catalog.ts'
import type { TypedStateShare } from '../../src/state/catalog/typed-state-share.ts'
import type { VectorStateDescriptor } from '../../src/state/port/descriptors.ts'
import { finished } from '../../src/state/port/scan-part.ts'
import type { SlotQueryAnswer, SlotQueryRequest } from '../../src/state/port/slot-query.ts'
import type { RowTableShare } from '../../src/state/rows/share.ts'
import { HeapStateStore } from '../../src/state/store/heap.ts'
import { VersionedRows } from '../../src/state/vector/versioned-rows.ts'

export const SLOTS = 2
export const MAX_PARALLELISM = 128
/** Floats per row of ALS_MODEL. */
export const DIMENSION = 4
/** Floats per block of WEIGHTS. */
export const BLOCK = 8

const encoder = new TextEncoder()

const STATES: readonly VectorStateDescriptor[] = [
  {
    kind: 'vector',
    name: 'users',
    dimension: DIMENSION,
    queryableName: 'ALS_MODEL',
    keySuffix: '-U',
    meanKey: 'MEAN-U',
  },
  {
    kind: 'vector',
    name: 'items',
    dimension: DIMENSION,
    queryableName: 'ALS_MODEL',
    keySuffix: '-I',
    meanKey: 'MEAN-I',
  },
  { kind: 'vector', name: 'weights', dimension: BLOCK, queryableName: 'WEIGHTS' },
  itemTagRows(),
  tagNameRows(),
  { kind: 'vector', name: 'frozen-weights', dimension: BLOCK },
]

/** The part of the typed state COUNTS in one slot. */
export function typedPart(slot: number): TypedStateShare {
  const { first, last } = keyGroupRangeOf(slot, SLOTS, MAX_PARALLELISM)
  return {
    operatorUid: 'count',
    queryableName: 'COUNTS',
    kind: 'value',
    slot,
    firstKeyGroup: first,
    lastKeyGroup: last,
    maxParallelism: MAX_PARALLELISM,
  }
}

/**
 * The state that a `ModelReader` reads: two slots on one thread with an ALS model (`ALS_MODEL`: keys `-U`,
 * `-I`), block weights (`WEIGHTS`) and a typed state (`COUNTS`). Version 1 of both models is live.
 */
export class ModelWorld implements SlotQueryClient {
  readonly board = ProgressBoard.create(SLOTS, 4)
  readonly catalog = new StateCatalog()
  /** Queryable names by their number on the board. */
  readonly models = ['ALS_MODEL', 'WEIGHTS']
  /** Number of requests to slots. */
  readonly asked: SlotQueryRequest[] = []
  private readonly tables: VersionedRows[][]
  private readonly counts = new Map<string, Uint8Array>()
  private offset = 0
  private checkpoint = 0

  /** With `spill`, row tables have a few rows and the stores have the rest. */
  constructor(spill = false) {
    this.tables = Array.from({ length: SLOTS }, (_, slot) =>
      STATES.map((descriptor) => this.openState(slot, descriptor, spill)),
    )
    for (let slot = 0; slot < SLOTS; slot++) {
      this.catalog.addTyped(typedPart(slot))
      this.board.setSlotStatus(slot, 'running')
      this.openVersion(slot, 1)
    }
    this.models.forEach((_, model) => {
      this.board.setLiveVersion(model, 1)
    })
  }

  private openState(
    slot: number,
    descriptor: VectorStateDescriptor,
    spill: boolean,
  ): VersionedRows {
    return new VersionedRows({
      operatorUid: 'model',
      descriptor,
      keyGroups: keyGroupRangeOf(slot, SLOTS, MAX_PARALLELISM),
      maxParallelism: MAX_PARALLELISM,
      slot,
      memoryBudgetBytes: spill ? 6000 : Number.MAX_SAFE_INTEGER,
      listener: {
        tableOpened: (share) => this.catalog.add(share),
        tableDropped: (state, version) =>
          this.catalog.drop({ operatorUid: 'model', state, version, slot }),
      },
      spillSink: () => ({ append: () => {} }),
      ...(spill ? { store: new HeapStateStore(), rowShift: 2 } : {}),
    })
  }

  /** Opens a version of every state on a slot. */
  openVersion(slot: number, version: number): void {
    for (const tables of this.tables[slot]!) tables.openVersion(version as ModelVersion)
  }

  /** The open tables of every state, version and slot. */
  shares(): RowTableShare[] {
    return STATES.flatMap(({ name }) => {
      const { versions } = this.catalog.keyClass('model', name)!
      return [...versions.values()].flatMap(({ readers }) => readers.map(({ share }) => share))
    })
  }

  /** The number of a queryable name on the board. */
  readonly modelOf = (name: string): number | undefined => {
    const model = this.models.indexOf(name)
    return model < 0 ? undefined : model
  }

  private ownerOf(key: string): number {
    const group = keyGroupOf(encoder.encode(key), MAX_PARALLELISM)
    return subtaskOfKeyGroup(group, SLOTS, MAX_PARALLELISM)
  }

  private tablesOf(key: string): VersionedRows {
    const state = key.endsWith('-U') ? 0 : key.endsWith('-I') ? 1 : 2
    return this.tables[this.ownerOf(key)]![state]!
  }

  /** Writes the tags of an item, by their bits, as an operator does. */
  tag(key: string, ...bits: readonly number[]): void {
    const tables = this.tables[this.ownerOf(key)]!
    const origin = { partition: 0, offset: this.offset++, eventTime: -1 }
    tables[3]!.put(1 as ModelVersion, encoder.encode(key), tagRow(bits), origin)
  }

  /** Gives a tag its bit. */
  nameTag(tag: string, bit: number): void {
    const key = `${tag}-T`
    const tables = this.tables[this.ownerOf(key)]!
    const origin = { partition: 0, offset: this.offset++, eventTime: -1 }
    tables[4]!.put(1 as ModelVersion, encoder.encode(key), Float32Array.of(bit), origin)
  }

  /** Keeps a block of weights as it was published, as a learner does before it changes the block. */
  freeze(key: string, vector: readonly number[]): void {
    const tables = this.tables[this.ownerOf(key)]!
    const origin = { partition: -1, offset: 0, eventTime: -1 }
    tables[5]!.put(1 as ModelVersion, encoder.encode(key), Float32Array.from(vector), origin)
  }

  /** Writes a row. Its position is partition 0 and the next offset. */
  put(key: string, vector: readonly number[], version = 1): void {
    const origin = { partition: 0, offset: this.offset++, eventTime: -1 }
    const bytes = encoder.encode(key)
    this.tablesOf(key).put(version as ModelVersion, bytes, Float32Array.from(vector), origin)
  }

  remove(key: string, version = 1): void {
    this.tablesOf(key).remove(version as ModelVersion, encoder.encode(key))
  }

  dropVersion(version: number): void {
    for (const slot of this.tables) {
      for (const tables of slot) tables.dropVersion(version as ModelVersion)
    }
  }

  putCount(key: string, value: Uint8Array): void {
    this.counts.set(key, value)
  }

  /** Takes and completes the next checkpoint. */
  completeCheckpoint(): void {
    this.checkpoint++
    const sink = { append: (): void => {} }
    for (const tables of this.tables.flat()) {
      const snapshot = tables.snapshot(this.checkpoint, sink, false)
      while (!snapshot.step(10));
    }
    this.board.setCompletedCheckpoint(this.checkpoint, systemClock.monotonicMs())
    for (const tables of this.tables.flat()) tables.checkpointCompleted(this.checkpoint)
  }

  /** Reports that every slot has applied partition 0 below the offset, as of `asOfMs`. */
  progress(nextOffset: number, asOfMs: number): void {
    const seenMs = Math.max(1, systemClock.monotonicMs() - (systemClock.nowMs() - asOfMs))
    for (let slot = 0; slot < SLOTS; slot++) {
      this.board.setReported(slot)
      this.board.setProgress(slot, 0, nextOffset, seenMs)
    }
  }

  /** Begins the restore of version 1 in every slot, until `endRestore`. */
  beginRestore(): void {
    for (const tables of this.tables.flat()) tables.beginRestore()
  }

  endRestore(): void {
    for (const tables of this.tables.flat()) tables.endRestore(++this.checkpoint)
  }

  /** A new in-place reader. */
  reader(): LocalModelReader {
    return new LocalModelReader({
      catalog: this.catalog,
      board: this.board,
      slots: this,
      clock: systemClock,
      modelOf: this.modelOf,
      server: 'query-0',
    })
  }

  async ask(slot: number, request: SlotQueryRequest): Promise<SlotQueryReplyMessage> {
    this.asked.push(request)
    return packSlotQueryReply({ id: request.id, answers: this.answers(slot, request) })
  }

  giveBack(): void {}

  cancel(): void {}

  private answers(slot: number, request: SlotQueryRequest): SlotQueryAnswer[] {
    switch (request.kind) {
      case 'rows':
        return this.stateOf(slot, request.state).answerRows(
          request.version,
          request.keys,
          request.bring,
        )
      case 'values':
        return request.keys.map((key) => this.countOf(key))
      case 'scan':
        return this.scan(slot, request)
    }
  }

  private stateOf(slot: number, name: string): VersionedRows {
    const i = STATES.findIndex((descriptor) => descriptor.name === name)
    if (i < 0) throw new WeirError('UNKNOWN_STATE', name)
    return this.tables[slot]![i]!
  }

  private countOf(key: Uint8Array): SlotQueryAnswer {
    const value = this.counts.get(Buffer.from(key).toString())
    return value === undefined ? { kind: 'missing', key } : { kind: 'found', key, value }
  }

  private scan(
    slot: number,
    request: Extract<SlotQueryRequest, { kind: 'scan' }>,
  ): SlotQueryAnswer[] {
    const { version, from, to, limit, stored } = request
    if (stored !== undefined)
      return this.stateOf(slot, stored.state).storedPage(version, from, limit)
    if (request.queryableName === 'COUNTS') {
      const keys = [...this.counts.keys()].filter((key) => this.ownerOf(key) === slot).sort()
      return keys
        .map((key) => this.countOf(encoder.encode(key)))
        .filter(({ key }) => Buffer.compare(key, from) >= 0 && Buffer.compare(key, to) < 0)
    }
    return STATES.flatMap(({ queryableName }, i) =>
      queryableName === request.queryableName
        ? finished(this.tables[slot]![i]!.scan(version, { from, to, limit })).answers
        : [],
    ).sort((a, b) => Buffer.compare(a.key, b.key))
  }

  close(): void {
    for (const tables of this.tables.flat()) tables.close()
  }
}
