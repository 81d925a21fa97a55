import { describe, expect, it } from 'vitest'
import { LearningPlaces } from '../../src/jobs/online-places.ts'
import type { SourceSplit } from '../../src/operators/source.ts'

/** A source of two partitions that goes where it is told. */
class FakeSource {
  readonly next = new Map([
    [0, 0],
    [1, 0],
  ])
  readonly restored = new Set<number>()

  positions(): SourceSplit[] {
    return [...this.next].map(([partition, nextOffset]) => ({ partition, nextOffset }))
  }

  isRestored(partition: number): boolean {
    return this.restored.has(partition)
  }

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

const place = (partition: number, next: number, start = 0) => ({ partition, start, next })

describe('the places where versions learn on', () => {
  it('go back to the end of what the version that goes live has learned', () => {
    const source = new FakeSource()
    const places = new LearningPlaces(source, [])
    places.switchTo(1, [])
    source.read(10, 20)
    places.switchTo(2, [place(0, 7), place(1, 15)])
    expect(source.offsets).toEqual([7, 15])
  })

  it('leave out what the first version was trained on', () => {
    const source = new FakeSource()
    new LearningPlaces(source, []).switchTo(1, [place(0, 100), place(1, 50)])
    expect(source.offsets).toEqual([100, 50])
  })

  it('are where a version was left when it goes live again', () => {
    const source = new FakeSource()
    const places = new LearningPlaces(source, [])
    places.switchTo(1, [])
    source.read(10, 20)
    places.switchTo(2, [place(0, 7), place(1, 15)])
    source.read(30, 40)
    places.switchTo(1, [place(0, 2), place(1, 2)])
    expect(source.offsets).toEqual([10, 20])
    source.read(31, 41)
    places.switchTo(2, [])
    expect(source.offsets).toEqual([30, 40])
  })

  it('stay where they are for a version of unknown origin, and when nothing changes', () => {
    const source = new FakeSource()
    const places = new LearningPlaces(source, [])
    places.switchTo(1, [])
    source.read(10, 20)
    places.switchTo(2, [])
    places.switchTo(2, [place(0, 1), place(1, 1)])
    expect(source.offsets).toEqual([10, 20])
  })

  it('are never before what the topic still holds', () => {
    const source = new FakeSource()
    const places = new LearningPlaces(source, [])
    places.switchTo(1, [])
    source.read(10, 20)
    places.switchTo(2, [place(0, 3, 5), place(1, 12, 5)])
    expect(source.offsets).toEqual([5, 12])
  })

  it('come back from a checkpoint, whoever reads the partitions then', () => {
    const before = new FakeSource()
    const places = new LearningPlaces(before, [])
    places.switchTo(1, [])
    before.read(10, 20)
    places.switchTo(2, [place(0, 7), place(1, 15)])
    const after = new FakeSource()
    after.read(8, 16)
    after.restored.add(0).add(1)
    const restored = new LearningPlaces(after, places.snapshot())
    restored.switchTo(2, [place(0, 7), place(1, 15)])
    expect(after.offsets).toEqual([8, 16])
    restored.switchTo(1, [])
    expect(after.offsets).toEqual([10, 20])
  })

  it('stay for partitions of a checkpoint that knows of no places', () => {
    const source = new FakeSource()
    source.read(8, 16)
    source.restored.add(0).add(1)
    new LearningPlaces(source, []).switchTo(1, [place(0, 2), place(1, 2)])
    expect(source.offsets).toEqual([8, 16])
  })

  it('keep their bytes', () => {
    const source = new FakeSource()
    const places = new LearningPlaces(source, [])
    places.switchTo(1, [])
    source.read(10, 300)
    places.switchTo(2, [])
    const bytes = places.snapshot().map((entry) => Buffer.from(entry).toString('hex'))
    expect(bytes).toEqual([
      '010000000002000000010000000000000000002440',
      '0101000000020000000100000000000000' + '00c07240',
    ])
  })
})
