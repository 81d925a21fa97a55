import { describe, expect, it } from 'vitest'
import { encodeOrigin } from '../../../src/connectors/records/topic-origin.ts'
import { ResumeOffsets } from '../../../src/jobs/learning/resume-offsets.ts'
import type { SourceSplit } from '../../../src/operators/port/source.ts'

/** A source of two partitions that can be moved. */
class FakeSource {
  readonly next = new Map([
    [0, 0],
    [1, 0],
  ])
  readonly restored = new Set<number>()
  private readonly origin: string | undefined

  constructor(origin?: string) {
    this.origin = origin
  }

  positions(): SourceSplit[] {
    const topic = this.origin === undefined ? {} : { origin: this.origin }
    return [...this.next].map(([partition, nextOffset]) => ({ partition, nextOffset, ...topic }))
  }

  isRestored(partition: number): boolean {
    return this.restored.has(partition)
  }

  appliesTo(): void {}

  seek(splits: readonly SourceSplit[]): void {
    for (const { partition, nextOffset } of splits) this.next.set(partition, nextOffset)
  }

  /** Partitions 0 and 1 were read up to these offsets. */
  read(first: number, second: number): void {
    this.next.set(0, first).set(1, second)
  }

  get offsets(): readonly number[] {
    return [this.next.get(0)!, this.next.get(1)!]
  }
}

const resume = (partition: number, next: number, start = 0) => ({ partition, start, next })

describe('the offsets where versions resume', () => {
  it('are the end of what the version that goes live has learned', () => {
    const source = new FakeSource()
    const offsets = new ResumeOffsets(source, [])
    offsets.switchTo(1, [])
    source.read(10, 20)
    offsets.switchTo(2, [resume(0, 7), resume(1, 15)])
    expect(source.offsets).toEqual([7, 15])
  })

  it('are after what the first version was trained on', () => {
    const source = new FakeSource()
    new ResumeOffsets(source, []).switchTo(1, [resume(0, 100), resume(1, 50)])
    expect(source.offsets).toEqual([100, 50])
  })

  it('are where a version was left, when it goes live again', () => {
    const source = new FakeSource()
    const offsets = new ResumeOffsets(source, [])
    offsets.switchTo(1, [])
    source.read(10, 20)
    offsets.switchTo(2, [resume(0, 7), resume(1, 15)])
    source.read(30, 40)
    offsets.switchTo(1, [resume(0, 2), resume(1, 2)])
    expect(source.offsets).toEqual([10, 20])
    source.read(31, 41)
    offsets.switchTo(2, [])
    expect(source.offsets).toEqual([30, 40])
  })

  it('do not move for a version of unknown origin, or when the version stays live', () => {
    const source = new FakeSource()
    const offsets = new ResumeOffsets(source, [])
    offsets.switchTo(1, [])
    source.read(10, 20)
    offsets.switchTo(2, [])
    offsets.switchTo(2, [resume(0, 1), resume(1, 1)])
    expect(source.offsets).toEqual([10, 20])
  })

  it('are never before the start of the topic', () => {
    const source = new FakeSource()
    const offsets = new ResumeOffsets(source, [])
    offsets.switchTo(1, [])
    source.read(10, 20)
    offsets.switchTo(2, [resume(0, 3, 5), resume(1, 12, 5)])
    expect(source.offsets).toEqual([5, 12])
  })

  it('are restored from a checkpoint on whichever subtask reads the partitions', () => {
    const before = new FakeSource()
    const offsets = new ResumeOffsets(before, [])
    offsets.switchTo(1, [])
    before.read(10, 20)
    offsets.switchTo(2, [resume(0, 7), resume(1, 15)])
    const after = new FakeSource()
    after.read(8, 16)
    after.restored.add(0).add(1)
    const restored = new ResumeOffsets(after, offsets.snapshot())
    restored.switchTo(2, [resume(0, 7), resume(1, 15)])
    expect(after.offsets).toEqual([8, 16])
    restored.switchTo(1, [])
    expect(after.offsets).toEqual([10, 20])
  })

  it('do not move partitions of a checkpoint without resume offsets', () => {
    const source = new FakeSource()
    source.read(8, 16)
    source.restored.add(0).add(1)
    new ResumeOffsets(source, []).switchTo(1, [resume(0, 2), resume(1, 2)])
    expect(source.offsets).toEqual([8, 16])
  })

  it('keep their bytes', () => {
    const source = new FakeSource()
    const offsets = new ResumeOffsets(source, [])
    offsets.switchTo(1, [])
    source.read(10, 300)
    offsets.switchTo(2, [])
    const bytes = offsets.snapshot().map((entry) => Buffer.from(entry).toString('hex'))
    expect(bytes).toEqual([
      '010000000002000000010000000000000000002440',
      '0101000000020000000100000000000000' + '00c07240',
    ])
  })

  it('belong to the topic of the observations: in another one they are refused', () => {
    const originOf = (topic: string, id: string) => encodeOrigin({ topic, id, partitions: 2 })
    const source = new FakeSource(originOf('s1', 'a'))
    const offsets = new ResumeOffsets(source, [])
    offsets.switchTo(1, [])
    source.read(10, 20)
    offsets.switchTo(2, [resume(0, 7), resume(1, 15)])
    const entries = offsets.snapshot()
    expect(entries.map((entry) => Buffer.from(entry).toString('hex'))).toEqual(
      [
        ['00000000', '010000000000000000002440'],
        ['01000000', '010000000000000000003440'],
      ].map(([partition, left]) => {
        const origin = Buffer.from('{"topic":"s1","id":"a","partitions":2}').toString('hex')
        return `02${partition}0200000026000000${origin}${left}`
      }),
    )
    const same = new FakeSource(originOf('s1', 'a'))
    same.restored.add(0).add(1)
    const restored = new ResumeOffsets(same, entries)
    restored.switchTo(1, [])
    expect(same.offsets).toEqual([10, 20])
    const other = new ResumeOffsets(new FakeSource(originOf('s2', 'b')), entries)
    // A checkpoint before the version is live keeps the topic of the state.
    expect(other.snapshot()).toEqual(entries)
    expect(() => other.switchTo(1, [])).toThrow(
      expect.objectContaining({
        code: 'TOPIC_CHANGED',
        message: expect.stringMatching(/offsets of topic "s1" .* reads topic "s2"/),
      }),
    )
  })
})
