import {
  defineJob,
  float64Serializer,
  GeneratorSource,
  int53Serializer,
  type KeyedStream,
  monotonousTimestamps,
  type Serializer,
  type StreamExecutionEnvironment,
  stringSerializer,
  tumblingEventTimeWindows,
  type ValueState,
  valueState,
} from '../../../src/index.ts'

/** Numbers of the keys, from -5 on. */
export const KEYS = 50
/** Between two visits, whose last one has its time again and again. */
export const VISIT_MS = 50
export const LAST_VISIT = 59_950

interface Own {
  readonly n: number
}

const own: Serializer<Own> = {
  id: 'own/1',
  write: ({ n }, writer) => writer.uint32(n + 5),
  read: (reader) => ({ n: reader.uint32() - 5 }),
}

interface Visit {
  readonly user: string
  readonly time: number
}

const counting = {
  createAccumulator: () => 0,
  add: (_: Visit, count: number) => count + 1,
  getResult: (count: number) => ({ count }),
  merge: (a: number, b: number) => a + b,
}

/** Windows of 10 s of visits, whose time goes on to the last moment: then the first two windows are over. */
function addWindows(env: StreamExecutionEnvironment): void {
  const visits = env
    .fromSource(
      new GeneratorSource<Visit>({
        generate: (index) => ({
          user: `u${index % 3}`,
          time: Math.min(index * VISIT_MS, LAST_VISIT),
        }),
        timestampOf: ({ time }) => time,
        ratePerSecond: 20_000,
      }),
      monotonousTimestamps<Visit>(),
      'Visits',
    )
    .uid('visits')
  visits
    .keyBy(({ user }) => user)
    .window(tumblingEventTimeWindows(10_000))
    .aggregate(counting)
    .uid('counts')
    .asQueryableState('COUNTS', { retainMs: 30_000 })
    .uid('stored-counts')
  visits
    .windowAll(tumblingEventTimeWindows(10_000))
    .aggregate(counting)
    .uid('totals')
    .asQueryableState('TOTALS', { retainMs: 30_000 })
    .uid('stored-totals')
}

/** Keeps the number of each key, under keys of every type. */
export default defineJob({
  name: 'typed-keys',
  build(env) {
    addWindows(env)
    env
      .table(
        new GeneratorSource({
          generate: (id): { readonly id: number; readonly name: string | null } => ({
            id: id % KEYS,
            name: id % KEYS === 3 ? null : `c${id % KEYS}`,
          }),
          countPerPartition: 2 * KEYS,
        }),
        {
          keyOf: ({ id }) => id,
          rowOf: ({ name }) => name,
          serializer: stringSerializer,
          queryableName: 'CUSTOMERS',
        },
      )
      .uid('customers')
    const generate = (index: number): number => (index % KEYS) - 5
    const numbers = env
      .fromSource(new GeneratorSource({ generate, ratePerSecond: 20_000 }))
      .uid('numbers')
    keep(
      numbers.keyBy((n) => n),
      'NUMBERS',
    )
    keep(
      numbers.keyBy((n) => `${n}`),
      'TEXTS',
    )
    keep(
      numbers.keyBy((n) => BigInt(n)),
      'BIGINTS',
    )
    keep(
      numbers.keyBy((n) => n === 7),
      'BOOLEANS',
    )
    keep(
      numbers.keyBy((n) => [`u${n}`, n] as const),
      'TUPLES',
    )
    keep(
      numbers.keyBy((n) => n, int53Serializer),
      'WHOLE',
    )
    keep(
      numbers.keyBy((n) => n / 2, float64Serializer),
      'HALVES',
    )
    keep(
      numbers.keyBy((n): Own => ({ n }), own),
      'OWN',
    )
  },
})

function keep<K>(numbers: KeyedStream<K, number>, queryableName: string): void {
  numbers
    .process<never>(() => {
      let last: ValueState<number>
      let values: ValueState<Own>
      return {
        open(context) {
          last = context.getState(valueState<number>('last', { queryableName }))
          if (queryableName !== 'NUMBERS') return
          values = context.getState(
            valueState('values', { serializer: own, queryableName: 'OWN_VALUES' }),
          )
        },
        processElement(n) {
          last.update(n)
          if (queryableName === 'NUMBERS') values.update({ n })
        },
      }
    })
    .uid(queryableName)
}
