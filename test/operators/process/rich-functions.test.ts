import { describe, expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { int53Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import { FilterOperator } from '../../../src/operators/basic/filter.ts'
import { FlatMapOperator } from '../../../src/operators/basic/flat-map.ts'
import { MapOperator } from '../../../src/operators/basic/map.ts'
import { ReduceOperator } from '../../../src/operators/basic/reduce.ts'
import type { StreamOperator } from '../../../src/operators/port/operator.ts'
import { CoFlatMapOperator, CoMapOperator } from '../../../src/operators/process/co-map.ts'
import type {
  FunctionContext,
  KeyedFunctionContext,
} from '../../../src/operators/process/function.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import type { RichMapFunction } from '../../../src/operators/process/rich-function.ts'
import { listState, valueState } from '../../../src/state/port/descriptors.ts'
import type { ListState, ValueState } from '../../../src/state/port/handles.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const keys = { selectors: [(n: number) => n % 2, undefined], serializer: plainKeySerializer() }

/** Belongs to the second of two subtasks. */
const KEY_OF_SUBTASK_1 = 1

/** Members that note when they are called. */
const noting = (calls: string[]) => ({
  open: ({ operatorName, subtask, parallelism, attempt }: FunctionContext) =>
    void calls.push(`open ${operatorName} ${subtask}/${parallelism} ${attempt}`),
  close: () => void calls.push('close'),
})

describe('rich functions', () => {
  const calls: string[] = []
  const life = noting(calls)
  const operators: Record<string, () => StreamOperator> = {
    map: () => new MapOperator({ ...life, map: (n: number) => n }),
    filter: () => new FilterOperator({ ...life, filter: () => true }),
    flatMap: () => new FlatMapOperator({ ...life, flatMap: (n: number, out) => out.collect(n) }),
    reduce: () => new ReduceOperator({ ...life, reduce: (a: number) => a }, int53Serializer),
    'map of two streams': () =>
      new CoMapOperator({ ...life, map1: (n: number) => n, map2: (n: number) => n }),
    'flatMap of two streams': () =>
      new CoFlatMapOperator<number, number, number>({
        ...life,
        flatMap1: (n, out) => out.collect(n),
        flatMap2: (n, out) => out.collect(n),
      }),
  }
  it.each(Object.keys(operators))('%s opens its function before the first record', async (name) => {
    calls.length = 0
    const operator = operators[name]!()
    const place = { name, subtask: 1, parallelism: 2 }
    const harness = await OperatorHarness.open<number, number>({ operator, keys, ...place })
    expect(calls).toEqual([`open ${name} 1/2 1`])
    harness.process(KEY_OF_SUBTASK_1, 7)
    expect(harness.outputs).toEqual([{ value: KEY_OF_SUBTASK_1, timestamp: 7 }])
    await harness.close()
    expect(calls).toEqual([`open ${name} 1/2 1`, 'close'])
  })

  it('wait for an open that returns a promise', async () => {
    let rate = 0
    const operator = new MapOperator<number, number>({
      open: async () => {
        await new Promise((resolve) => setImmediate(resolve))
        rate = 3
      },
      map: (n) => n * rate,
    })
    const harness = await OperatorHarness.open<number, number>({ operator })
    harness.process(2)
    expect(harness.values).toEqual([6])
  })

  it('have state of the key on a keyed stream, and count in metrics', async () => {
    let seen: ValueState<number>
    const operator = new MapOperator<number, string>({
      open(context: KeyedFunctionContext) {
        seen = context.getState(valueState<number>('seen'))
        context.metrics.counter('opened').increment()
      },
      map(n) {
        seen.update((seen.value() ?? 0) + 1)
        return `${n % 2}: ${seen.value()}`
      },
    } as RichMapFunction<number, string>)
    const harness = await OperatorHarness.open<number, string>({ operator, keys })
    for (const n of [1, 2, 3]) harness.process(n)
    expect(harness.values).toEqual(['1: 1', '0: 1', '1: 2'])
    expect(harness.metrics.snapshot()).toMatchObject({ opened: 1 })
  })

  it('are refused keyed state on a stream without keys', async () => {
    const operator = new MapOperator<number, number>({
      open: (context: KeyedFunctionContext) => void context.getState(valueState<number>('seen')),
      map: (n) => n,
    } as RichMapFunction<number, number>)
    await expect(async () => OperatorHarness.open({ operator })).rejects.toMatchObject({
      code: 'INVALID_GRAPH',
      message: expect.stringContaining('keyBy'),
    })
  })

  it('know the input of two streams', async () => {
    const operator = new CoMapOperator<number, string, string>({
      map1: (n) => `number ${n}`,
      map2: (text) => `text ${text}`,
    })
    const harness = await OperatorHarness.open<unknown, string>({ operator })
    harness.process(1, 5)
    harness.process('a', 6, { input: 1 })
    expect(harness.outputs).toEqual([
      { value: 'number 1', timestamp: 5 },
      { value: 'text a', timestamp: 6 },
    ])
  })

  it('are refused at the first promise', async () => {
    const later = async (): Promise<never> => await new Promise<never>(() => {})
    for (const operator of [
      new MapOperator({ map: later }),
      new CoMapOperator({ map1: later, map2: later }),
      new CoFlatMapOperator({ flatMap1: later, flatMap2: later }),
    ]) {
      const harness = await OperatorHarness.open<number, number>({ operator })
      expect(() => harness.process(1)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
    }
  })
})

/** Collects records, and shows all it has when it gets `?`. */
function buffer(kind: 'split' | 'union', serializer = stringSerializer) {
  let kept: ListState<string>
  let restored = false
  return new MapOperator<string, string>({
    initializeState(context) {
      const descriptor = listState<string>('kept', { serializer })
      kept =
        kind === 'split' ? context.getListState(descriptor) : context.getUnionListState(descriptor)
      restored = context.isRestored
    },
    map(text) {
      if (text !== '?') kept.add(text)
      return `${restored} ${kept.get().join(' ')}`
    },
  })
}

async function snapshotOf(operator: StreamOperator, ...texts: string[]): Promise<HarnessSnapshot> {
  const harness = await OperatorHarness.open<string, string>({ operator })
  for (const text of texts) harness.process(text)
  return await harness.snapshot()
}

async function restored(
  operator: StreamOperator,
  restore: HarnessSnapshot[],
  subtask = 0,
  parallelism = 1,
) {
  const harness = await OperatorHarness.open<string, string>({
    operator,
    restore,
    subtask,
    parallelism,
  })
  harness.process('?')
  return harness.values[0]!
}

describe('state of a function that belongs to its subtask', () => {
  it('starts empty, and says so', async () => {
    expect(await restored(buffer('split'), [])).toBe('false ')
  })

  it('is divided among the subtasks of another parallelism', async () => {
    const before = await snapshotOf(buffer('split'), 'a', 'b', 'c')
    const shares = [
      await restored(buffer('split'), [before], 0, 2),
      await restored(buffer('split'), [before], 1, 2),
    ].map((share) => share.replace('true ', ''))
    expect(shares.flatMap((share) => share.split(' ')).sort()).toEqual(['a', 'b', 'c'])
    expect(shares.every((share) => share.length < 5)).toBe(true)
  })

  it('comes together in every subtask when it is a union', async () => {
    const before = [
      await snapshotOf(buffer('union'), 'a', 'b'),
      await snapshotOf(buffer('union'), 'c'),
    ]
    expect(await restored(buffer('union'), before, 1, 3)).toBe('true a b c')
  })

  it('is stored again by an attempt that did not change it', async () => {
    const before = await snapshotOf(buffer('split'), 'a')
    const again = await OperatorHarness.open({ operator: buffer('split'), restore: [before] })
    expect(await restored(buffer('split'), [await again.snapshot()])).toBe('true a')
  })

  it('is what snapshotState made of it', async () => {
    let count = 0
    const stored: number[] = []
    const counting = () => {
      let counts: ListState<number>
      return new KeyedProcessOperator<number, number, number>(
        {
          initializeState(context) {
            counts = context.getListState(listState<number>('count'))
            for (const n of counts.get()) stored.push(n)
          },
          processElement: () => void count++,
          async snapshotState({ checkpointId }) {
            await Promise.resolve()
            counts.update([count, checkpointId])
          },
        },
        plainKeySerializer() as never,
        true,
      )
    }
    const harness = await OperatorHarness.open<number>({ operator: counting(), keys })
    harness.process(1)
    harness.process(2)
    const restore = [await harness.snapshot(9)]
    await OperatorHarness.open({ operator: counting(), keys, restore })
    expect(stored).toEqual([2, 9])
  })

  it('is refused under another serializer', async () => {
    const before = await snapshotOf(buffer('split'), 'a')
    const other = buffer('split', { ...stringSerializer, id: 'string/2' })
    await expect(async () => restored(other, [before])).rejects.toMatchObject({
      code: 'STATE_CONFLICT',
    })
  })

  it('is refused when one name is declared twice', async () => {
    const operator = new MapOperator<number, number>({
      initializeState(context) {
        context.getListState(listState<number>('same'))
        context.getUnionListState(listState<number>('same'))
      },
      map: (n) => n,
    })
    await expect(async () => OperatorHarness.open({ operator })).rejects.toMatchObject({
      code: 'STATE_CONFLICT',
    })
  })
})
