import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import type {
  Source,
  SourceOutput,
  SourceReader,
  SourceSplit,
} from '../../src/operators/port/source.ts'

/** A bounded source, and the records of each of its partitions as text. */
export interface SourceUnderTest<T> {
  readonly source: Source<T>
  readonly expected: readonly (readonly string[])[]
  readonly textOf: (value: T) => string
}

interface Delivered {
  readonly text: string
  readonly partition: number
  readonly offset: number
}

class Recorder<T> implements SourceOutput<T> {
  readonly delivered: Delivered[] = []
  readonly progressed = new Map<number, number>()
  private readonly textOf: (value: T) => string

  constructor(textOf: (value: T) => string) {
    this.textOf = textOf
  }

  collect(value: T, _timestamp: number, partition: number, offset: number): void {
    this.delivered.push({ text: this.textOf(value), partition, offset })
  }

  progress(partition: number, nextOffset: number): void {
    this.progressed.set(partition, nextOffset)
  }

  of(partition: number): string[] {
    return this.delivered.filter((d) => d.partition === partition).map((d) => d.text)
  }
}

async function openReader<T>(
  source: Source<T>,
  splits: readonly SourceSplit[],
): Promise<SourceReader<T>> {
  const reader = source.createReader()
  const metrics = new MetricGroup()
  await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
  await reader.addSplits(splits)
  return reader
}

async function pollUntilEnd<T>(
  reader: SourceReader<T>,
  output: SourceOutput<T>,
  maxRecords = 3,
): Promise<void> {
  for (;;) {
    const result = reader.poll(output, maxRecords)
    if (result === 'ended') return
    if (result === 'idle') await reader.available()
  }
}

const fresh = (partitions: readonly number[]): SourceSplit[] =>
  partitions.map((partition) => ({ partition, nextOffset: -1 }))

/** Contract of every bounded source; `make` is called once per test. */
export function sourceContract<T>(name: string, make: () => Promise<SourceUnderTest<T>>): void {
  describe(`${name} as a source`, () => {
    it('is bounded and discovers its partitions', async () => {
      const { source, expected } = await make()
      expect(source.boundedness).toBe('bounded')
      expect([...(await source.discover())]).toEqual(expected.map((_, partition) => partition))
    })

    it('delivers every record of every partition once, in order, with growing offsets', async () => {
      const { source, expected, textOf } = await make()
      const recorder = new Recorder(textOf)
      const reader = await openReader(source, fresh(await source.discover()))
      await pollUntilEnd(reader, recorder)
      expected.forEach((texts, partition) => {
        expect(recorder.of(partition)).toEqual(texts)
        const offsets = recorder.delivered.filter((d) => d.partition === partition)
        for (let i = 1; i < offsets.length; i++) {
          expect(offsets[i]!.offset).toBeGreaterThan(offsets[i - 1]!.offset)
        }
        const last = offsets.at(-1)?.offset ?? -1
        expect(recorder.progressed.get(partition) ?? 0).toBeGreaterThan(last)
      })
      await reader.close()
    })

    it('never delivers more records than requested', async () => {
      const { source, textOf } = await make()
      const reader = await openReader(source, fresh(await source.discover()))
      for (;;) {
        const recorder = new Recorder(textOf)
        const result = reader.poll(recorder, 2)
        expect(recorder.delivered.length).toBeLessThanOrEqual(2)
        if (result === 'ended') break
        if (result === 'idle') await reader.available()
      }
      await reader.close()
    })

    it('continues after any snapshot exactly at its position', async () => {
      const { source, expected, textOf } = await make()
      const total = expected.flat().length
      for (let stopAt = 1; stopAt < total; stopAt += 2) {
        const before = new Recorder(textOf)
        const first = await openReader(source, fresh(await source.discover()))
        while (before.delivered.length < stopAt) {
          if (first.poll(before, 1) === 'idle') await first.available()
        }
        const splits = first.snapshot()
        await first.close()
        const second = await openReader(source, splits)
        await pollUntilEnd(second, before)
        expect(expected.map((_, partition) => before.of(partition))).toEqual(expected)
        await second.close()
      }
    })

    it('divides its partitions among readers', async () => {
      const { source, expected, textOf } = await make()
      for (const partition of await source.discover()) {
        const recorder = new Recorder(textOf)
        const reader = await openReader(source, fresh([partition]))
        await pollUntilEnd(reader, recorder)
        expect(recorder.of(partition)).toEqual(expected[partition])
        expect(recorder.delivered).toHaveLength(expected[partition]!.length)
        await reader.close()
      }
    })

    it('ends immediately when it has no splits', async () => {
      const { source, textOf } = await make()
      const reader = await openReader(source, [])
      expect(reader.poll(new Recorder(textOf), 10)).toBe('ended')
      await reader.close()
    })
  })
}
