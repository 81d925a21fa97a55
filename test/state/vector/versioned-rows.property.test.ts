import { describe, expect, test } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import type { StateSnapshot } from '../../../src/state/port/change.ts'
import { finished } from '../../../src/state/port/scan-part.ts'
import { decodeVectorFloats } from '../../../src/state/rows/codec.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { bytesOf, type Change, ListSink, V1, VectorFixture } from './model.ts'

const KEYS = 60

type Rows = Map<string, number[]>

const vectorOf = (random: Random): number[] =>
  Array.from({ length: 4 }, () => random.below(1000) - 500)

const foldInto = (rows: Rows, changes: readonly Change[]): void => {
  for (const { key, value } of changes) {
    if (value === undefined) rows.delete(key)
    else rows.set(key, [...decodeVectorFloats(value, 4)])
  }
}

/** A running test: the tables, and a Map of what they must hold. */
class Trial {
  readonly fixture: VectorFixture
  readonly random: Random
  readonly rows: Rows = new Map()
  /** Rows as of each barrier. */
  readonly cuts = new Map<number, Rows>()
  /** Segments oldest first, aborted ones included; a full one ends the chain. */
  segments: Change[][] = []
  checkpoint = 0
  completed = 0
  running: { id: number; sink: ListSink; snapshot: StateSnapshot; full: boolean } | undefined
  pending: number[] = []

  constructor(seed: number, spill: boolean) {
    this.random = seededRandom(seed)
    this.fixture = new VectorFixture({
      spill,
      rowShift: 2,
      memoryBudgetBytes: spill ? 9_000 : Number.MAX_SAFE_INTEGER,
    })
    this.fixture.tables.openVersion(V1)
  }

  key(): string {
    return `k${this.random.below(KEYS)}`
  }

  step(): void {
    const dice = this.random.below(100)
    if (dice < 30) this.put(this.key())
    else if (dice < 55) this.add(this.key())
    else if (dice < 68) this.remove(this.key())
    else if (dice < 78) this.checkLive(this.key())
    else if (dice < 86) this.checkCut(this.key())
    else if (dice < 92) this.stepSnapshot()
    else if (dice < 96) this.barrier()
    else if (dice < 99) this.complete()
    else this.fixture.tables.maintain(0)
  }

  put(key: string): void {
    const vector = vectorOf(this.random)
    this.rows.set(key, vector)
    this.fixture.put(key, ...vector)
  }

  add(key: string): void {
    const delta = vectorOf(this.random)
    const old = this.rows.get(key) ?? [0, 0, 0, 0]
    this.rows.set(
      key,
      old.map((x, i) => x + delta[i]!),
    )
    this.fixture.add(key, ...delta)
  }

  remove(key: string): void {
    expect(this.fixture.remove(key)).toBe(this.rows.delete(key))
  }

  checkLive(key: string): void {
    const seen = this.fixture.seen(key)
    if (typeof seen !== 'number') expect(seen).toEqual(this.rows.get(key))
    expect(this.fixture.get(key)).toEqual(this.rows.get(key))
  }

  checkCut(key: string): void {
    for (const id of [this.completed, ...this.pending]) {
      if (id > 0) expect(this.fixture.seenAt(id, key)).toEqual(this.cuts.get(id)!.get(key))
    }
  }

  barrier(): void {
    if (this.running !== undefined) this.finish()
    const id = ++this.checkpoint
    this.cuts.set(id, new Map(this.rows))
    this.segments.push(this.fixture.spillSink.changes)
    this.fixture.spillSink = new ListSink()
    const full = this.random.below(4) === 0
    const sink = new ListSink()
    const snapshot = this.fixture.tables.snapshot(id, sink, full)
    this.running = { id, sink, snapshot, full }
    this.pending = [...this.pending, id].slice(-2)
  }

  stepSnapshot(): void {
    if (this.running?.snapshot.step(0)) this.finish()
  }

  finish(): void {
    const { id, sink, snapshot, full } = this.running!
    while (!snapshot.step(1));
    this.running = undefined
    this.segments = full ? [sink.changes] : [...this.segments, sink.changes]
    const folded: Rows = new Map()
    for (const changes of this.segments) foldInto(folded, changes)
    expect(folded).toEqual(this.cuts.get(id))
  }

  complete(): void {
    if (this.running !== undefined || this.pending.length === 0) return
    const id = this.pending[this.random.below(this.pending.length)]!
    this.pending = this.pending.filter((other) => other > id)
    this.completed = id
    this.fixture.tables.checkpointCompleted(id)
  }

  checkEverything(): void {
    expect(this.fixture.tables.size(V1)).toBe(this.rows.size)
    for (let i = 0; i < KEYS; i++) {
      this.checkLive(`k${i}`)
      this.checkCut(`k${i}`)
    }
    const sums = new Float64Array(4)
    expect(this.fixture.reader().addMeanInto(0, sums)).toBe(this.rows.size)
    const expected = [0, 0, 0, 0]
    for (const row of this.rows.values()) {
      for (let i = 0; i < 4; i++) expected[i]! += row[i]!
    }
    expect([...sums]).toEqual(expected)
    const range = { from: bytesOf(''), to: bytesOf('z'), limit: 1000 }
    const scanned = finished(this.fixture.tables.scan(V1, range)).answers
    expect(scanned.map(({ key }) => Buffer.from(key).toString())).toEqual(
      [...this.rows.keys()].sort(),
    )
    this.checkRestore()
  }

  /** All segments, newest first, into fresh tables. */
  checkRestore(): void {
    this.barrier()
    this.finish()
    const restored = new VectorFixture({
      spill: this.random.below(2) === 0,
      rowShift: 2,
      memoryBudgetBytes: 9_000,
    })
    restored.tables.beginRestore()
    for (const changes of this.segments.toReversed()) {
      for (const { key, value } of changes.toReversed()) {
        restored.tables.restoreRow(V1, bytesOf(key), value)
      }
    }
    restored.tables.endRestore(this.checkpoint)
    for (let i = 0; i < KEYS; i++) {
      expect(restored.get(`k${i}`)).toEqual(this.rows.get(`k${i}`))
      expect(restored.seenAt(this.checkpoint, `k${i}`)).toEqual(this.rows.get(`k${i}`))
    }
  }
}

describe('vector state behaves like a map, whatever the order of calls', () => {
  for (const spill of [false, true]) {
    test(`${spill ? 'with a store and a small budget' : 'in memory'}`, () => {
      for (let seed = 1; seed <= campaignSize(1, 5); seed++) {
        try {
          const trial = new Trial(seed, spill)
          for (let n = 0; n < 1500; n++) trial.step()
          trial.checkEverything()
        } catch (cause) {
          throw new Error(`seed ${seed}: ${cause}`, { cause })
        }
      }
    })
  }
})
