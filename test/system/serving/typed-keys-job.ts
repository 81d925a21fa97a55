import {
  defineJob,
  float64Serializer,
  GeneratorSource,
  int53Serializer,
  type KeyedStream,
  type Serializer,
  type ValueState,
  valueState,
} from '../../../src/index.ts'

/** Numbers of the keys, from -5 on. */
export const KEYS = 50

interface Own {
  readonly n: number
}

const own: Serializer<Own> = {
  id: 'own/1',
  write: ({ n }, writer) => writer.uint32(n + 5),
  read: (reader) => ({ n: reader.uint32() - 5 }),
}

/** Keeps the number of each key, under keys of every type. */
export default defineJob({
  name: 'typed-keys',
  build(env) {
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
      return {
        open(context) {
          last = context.getState(valueState<number>('last', { queryableName }))
        },
        processElement(n) {
          last.update(n)
        },
      }
    })
    .uid(queryableName)
}
