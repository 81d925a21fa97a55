import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import type { Clock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { atLeastOnceSinkContract, exactlyOnceSinkContract } from '../../contracts/sink.ts'
import { sourceContract } from '../../contracts/source.ts'

const expected = [['a', 'b', 'c', 'd'], [], ['e', 'f']]

sourceContract('MemorySource', () =>
  Promise.resolve({ source: new MemorySource(expected), expected, textOf: (v: string) => v }),
)

sourceContract('GeneratorSource', () =>
  Promise.resolve({
    source: new GeneratorSource({
      generate: (index, partition) => `${partition}.${index}`,
      partitions: 2,
      countPerPartition: 5,
    }),
    expected: [0, 1].map((p) => [0, 1, 2, 3, 4].map((i) => `${p}.${i}`)),
    textOf: (v: string) => v,
  }),
)

atLeastOnceSinkContract('MemorySink', () => {
  const sink = new MemorySink<string>()
  return Promise.resolve({ sink, visible: () => Promise.resolve(sink.values) })
})

exactlyOnceSinkContract('MemorySink', () => {
  const sink = new MemorySink<string>('exactly-once')
  return Promise.resolve({ sink, visible: () => Promise.resolve(sink.values) })
})

describe('MemorySource', () => {
  it('throws a configured error before the record', () => {
    const source = new MemorySource([['a', 'b']], {
      beforeRecord: (_partition, offset) => {
        if (offset === 1) throw new Error('crash')
      },
    })
    const reader = source.createReader()
    void reader.addSplits([{ partition: 0, nextOffset: -1 }])
    const seen: string[] = []
    const output = { collect: (v: string) => void seen.push(v), progress: () => undefined }
    expect(() => reader.poll(output, 10)).toThrow('crash')
    expect(seen).toEqual(['a'])
    expect(reader.snapshot()).toEqual([{ partition: 0, nextOffset: 1 }])
  })
})

describe('a source of several partitions', () => {
  const sources = {
    MemorySource: new MemorySource([new Array(10_000).fill(0), new Array(10_000).fill(1)]),
    GeneratorSource: new GeneratorSource({ generate: (_, partition) => partition, partitions: 2 }),
  }
  for (const [name, source] of Object.entries(sources)) {
    it.each([1, 3, 64])(`reads all of them alike, ${name} %i at a time`, async (records) => {
      const reader = source.createReader()
      const clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined }
      await reader.open({ subtask: 0, parallelism: 1, clock, metrics: new MetricGroup() })
      await reader.addSplits([0, 1].map((partition) => ({ partition, nextOffset: -1 })))
      const counts = [0, 0]
      const output = {
        collect: (partition: number) => void counts[partition]!++,
        progress: () => undefined,
      }
      for (let poll = 0; poll < 100; poll++) reader.poll(output, records)
      expect(counts).toEqual([50 * records, 50 * records])
    })
  }
})

describe('GeneratorSource', () => {
  it('refuses an async function, whose records would be promises', () => {
    const generate = async (index: number): Promise<number> => index
    expect(() => new GeneratorSource({ generate })).toThrow(
      'generate of a GeneratorSource is async',
    )
  })

  it('makes as many records as its rate and the clock allow', async () => {
    let now = 0
    const clock: Clock = { nowMs: () => now, monotonicMs: () => now, after: () => () => undefined }
    const source = new GeneratorSource({ generate: (i) => i, ratePerSecond: 100 })
    const reader = source.createReader()
    await reader.open({ subtask: 0, parallelism: 1, clock, metrics: new MetricGroup() })
    await reader.addSplits([{ partition: 0, nextOffset: -1 }])
    const seen: number[] = []
    const output = { collect: (v: number) => void seen.push(v), progress: () => undefined }
    expect(reader.poll(output, 10)).toBe('idle')
    now = 35
    reader.poll(output, 10)
    expect(seen).toEqual([0, 1, 2])
  })

  it('gives the same random record for the same seed, partition and index', async () => {
    const source = new GeneratorSource({
      generate: (_i, _p, random) => random.next(),
      partitions: 2,
    })
    const run = async (from: number): Promise<number[]> => {
      const reader = source.createReader()
      await reader.open({
        subtask: 0,
        parallelism: 1,
        clock: { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined },
        metrics: new MetricGroup(),
      })
      await reader.addSplits([{ partition: 1, nextOffset: from }])
      const seen: number[] = []
      reader.poll({ collect: (v) => void seen.push(v), progress: () => undefined }, 5)
      return seen
    }
    const all = await run(-1)
    expect((await run(2)).slice(0, 3)).toEqual(all.slice(2))
    expect(new Set(all).size).toBe(5)
  })
})
