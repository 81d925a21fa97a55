import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { structFormat } from '../../../src/core/formats/struct/format.ts'
import type { Collector } from '../../../src/operators/process/function.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  type WindowAssigner,
} from '../../../src/operators/windows/assigner.ts'
import { SavepointReader } from '../../../src/runtime/savepoints/reader.ts'
import { SavepointWriter } from '../../../src/runtime/savepoints/writer.ts'
import { listState, valueState } from '../../../src/state/port/descriptors.ts'
import { checkpointFolder } from '../job-fixture.ts'
import { all } from './counting-job.ts'
import { EvolvingJob, type Version, type Word } from './evolving-job.ts'

interface Sum {
  sum: number
}
const SUM = structFormat<Sum>({ sum: { type: 'float64' } })

/** Sums times in windows as numbers; `key` is that of `keyBy`. */
function numberWindows(assigner: WindowAssigner, key: (word: string) => string | number): Version {
  return (words) =>
    words
      .keyBy(({ word }) => key(word))
      .window(assigner)
      .aggregate(
        {
          createAccumulator: () => 0,
          add: ({ at }: Word, sum: number) => sum + at,
          getResult: (sum) => String(sum),
          merge: (a, b) => a + b,
        },
        () => ({
          process: (key, _window, results, out: Collector<string>) => {
            out.collect(`${typeof key} ${key} ${[...results]}`)
          },
        }),
      )
      .uid('window')
}

/** As `numberWindows`, with records as accumulators. */
function recordWindows(assigner: WindowAssigner): Version {
  return (words) =>
    words
      .keyBy(({ word }) => word)
      .window(assigner)
      .aggregate(
        {
          createAccumulator: () => ({ sum: 0 }),
          add: ({ at }: Word, { sum }: Sum) => ({ sum: sum + at }),
          getResult: ({ sum }) => `record ${sum}`,
          merge: (a, b) => ({ sum: a.sum + b.sum }),
        },
        { serializer: SUM },
      )
      .uid('window')
}

const BEFORE = [
  { word: '7', at: 1 },
  { word: '7', at: 4 },
]
const AFTER = [
  { word: '7', at: 6 },
  { word: '9', at: 500 },
]

describe('SavepointWriter', () => {
  const folder = checkpointFolder()
  afterAll(() => folder[Symbol.dispose]())
  let paths = 0
  const target = () => join(folder.path, `changed-${paths++}`)

  it.each([
    ['tumbling', tumblingEventTimeWindows(100), 1, 0, 100],
    // The contents of a session stay under the window of its first record.
    ['session', eventTimeSessionWindows(50), 1, 1, 51],
    ['sliding', slidingEventTimeWindows(100, 50), 2, 0, undefined],
  ] as const)(
    'reads the accumulators of open %s windows, and makes others of them',
    async (_, assigner, windows, start, end) => {
      const job = new EvolvingJob(folder.path)
      await job.run(
        numberWindows(assigner, (word) => word),
        BEFORE,
        { results: 0 },
      )
      const path = target()
      const contents = await all(
        (await SavepointReader.read(job.path)).readWindows<number>('window'),
      )
      expect(contents).toEqual([{ key: '7', contents: [5], start, ...(end && { end }) }])
      const writer = SavepointWriter.fromExistingSavepoint(job.path).changeWindows('window', {
        from: msgpackSerializer<number>(),
        to: SUM,
        change: (sum) => ({ sum: sum * 10 }),
      })
      job.restoreFrom(await writer.write(path))
      const results = await job.run(recordWindows(assigner), AFTER, { results: windows })
      expect(results).toEqual(Array.from({ length: windows }, () => 'record 56'))
    },
  )

  it('reads the records of open sliding windows by slices, and makes others of them', async () => {
    const job = new EvolvingJob(folder.path)
    const version: Version = (words) =>
      words
        .keyBy(({ word }) => word)
        .window(slidingEventTimeWindows(100, 50))
        .process<string>(() => ({
          process: (_key, { window }, elements, out) =>
            out.collect(`${window.start}: ${elements.map(({ at }) => at)}`),
        }))
        .uid('window')
    await job.run(version, BEFORE, { results: 0 })
    const contents = await all((await SavepointReader.read(job.path)).readWindows<Word>('window'))
    expect(contents).toEqual([{ key: '7', contents: BEFORE, start: 0 }])
    const words = msgpackSerializer<Word>()
    const writer = SavepointWriter.fromExistingSavepoint(job.path).changeWindows('window', {
      from: words,
      to: words,
      change: ({ word, at }) => ({ word, at: at * 10 }),
    })
    job.restoreFrom(await writer.write(target()))
    const results = await job.run(version, AFTER, { results: 2 })
    expect(results).toEqual(['-50: 10,40,6', '0: 10,40,6'])
  })

  it('gives windows and their timers other keys', async () => {
    const job = new EvolvingJob(folder.path)
    const assigner = tumblingEventTimeWindows(100)
    await job.run(
      numberWindows(assigner, (word) => word),
      BEFORE,
      { results: 0 },
    )
    const writer = SavepointWriter.fromExistingSavepoint(job.path).changeKeys('window', {
      from: plainKeySerializer<string>(),
      to: plainKeySerializer<number>(),
      change: Number,
    })
    job.restoreFrom(await writer.write(target()))
    const results = await job.run(numberWindows(assigner, Number), AFTER, { results: 1 })
    expect(results).toEqual(['number 7 11'])
  })

  it('changes values and keys of one operator one after the other', async () => {
    const job = new EvolvingJob(folder.path)
    const lists =
      (key: (word: string) => string | number, times: number): Version =>
      (words) =>
        words
          .keyBy(({ word }) => key(word))
          .process<string>(() => {
            let list: { add(value: number): void; get(): number[] }
            return {
              open(context) {
                list = context.getListState(listState<number>('list'))
              },
              processElement({ at }, _context, out) {
                list.add(at * times)
                out.collect(String(list.get()))
              },
            }
          })
          .uid('lists')
    await job.run(
      lists((word) => word, 1),
      BEFORE,
    )
    const state = listState<number>('list')
    const writer = SavepointWriter.fromExistingSavepoint(job.path)
      .changeValues('lists', { from: state, to: state, change: (n) => -n })
      .changeKeys('lists', {
        from: plainKeySerializer<string>(),
        to: plainKeySerializer<number>(),
        change: Number,
      })
    job.restoreFrom(await writer.write(target()))
    expect(await job.run(lists(Number, -1), [{ word: '7', at: 6 }])).toEqual(['-1,-4,-6'])
  })

  it('refuses two keys that become one, another kind, and a state or an operator that is not there', async () => {
    const job = new EvolvingJob(folder.path)
    await job.run(
      numberWindows(tumblingEventTimeWindows(100), (word) => word),
      [...BEFORE, { word: '8', at: 5 }],
      { results: 0 },
    )
    const writer = () => SavepointWriter.fromExistingSavepoint(job.path)
    const keys = plainKeySerializer<string>()
    const same = { from: keys, to: keys, change: () => 'same' }
    await expect(writer().changeKeys('window', same).write(target())).rejects.toThrow(
      'gives two keys of the savepoint the same new key',
    )
    const value = valueState<number>('window-contents')
    const list = listState<number>('window-contents')
    expect(() =>
      writer().changeValues('window', { from: value, to: list, change: Number }),
    ).toThrow('changeValues changes values, and not the kind')
    const other = valueState<number>('other')
    const change = { from: other, to: other, change: Number }
    await expect(writer().changeValues('window', change).write(target())).rejects.toThrow(
      'operator "window" has no state "other" in the savepoint; it has window-contents',
    )
    await expect(writer().changeValues('none', change).write(target())).rejects.toThrow(
      'the savepoint has no operator "none"',
    )
    const text = valueState<Sum>('window-contents', { serializer: SUM })
    await expect(
      writer()
        .changeValues('window', { from: text, to: text, change: (sum) => sum })
        .write(target()),
    ).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
    expect(() => writer().changeValues('window', undefined as never)).toThrow(
      'changeValues(uid, ...) got undefined',
    )
  })
})
