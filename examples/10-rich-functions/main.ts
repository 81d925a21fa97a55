/**
 * Rich functions: a map that opens a table of names before the first record, a flatMap with state of the key, and
 * a map of two streams. Run it with
 *
 *   npx node examples/10-rich-functions/main.ts
 */
import {
  type Collector,
  type KeyedFunctionContext,
  LocalExecutor,
  MemorySink,
  type RichFlatMapFunction,
  type RichMapFunction,
  StreamExecutionEnvironment,
  type ValueState,
  valueState,
} from '../../src/index.ts'

interface Reading {
  readonly sensor: string
  readonly celsius: number
}

/** Puts the name of a sensor before its readings. A real one would open a database. */
class WithName implements RichMapFunction<Reading, Reading> {
  private names!: ReadonlyMap<string, string>

  async open(): Promise<void> {
    this.names = await Promise.resolve(
      new Map([
        ['s1', 'inlet'],
        ['s2', 'outlet'],
      ]),
    )
  }

  map({ sensor, celsius }: Reading): Reading {
    return { sensor: this.names.get(sensor) ?? sensor, celsius }
  }
}

/** Emits a sentence when a sensor changes by more than 5 C at once. */
class Jumps implements RichFlatMapFunction<Reading, string, KeyedFunctionContext> {
  private last!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.last = context.getState(valueState<number>('last'))
  }

  flatMap({ sensor, celsius }: Reading, out: Collector<string>): void {
    const before = this.last.value() ?? celsius
    this.last.update(celsius)
    if (Math.abs(celsius - before) > 5) out.collect(`${sensor} jumps from ${before} to ${celsius}`)
  }
}

const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
const sentences = new MemorySink<string>()

const jumps = env
  .fromElements([
    { sensor: 's1', celsius: 11 },
    { sensor: 's2', celsius: 15 },
    { sensor: 's1', celsius: 12 },
    { sensor: 's2', celsius: 24 },
  ])
  .richMap(() => new WithName())
  .keyBy(({ sensor }) => sensor)
  .richFlatMap(() => new Jumps())

jumps
  .connect(env.fromElements([3]))
  .map<string>(() => ({ map1: (jump) => jump, map2: (door) => `door ${door} is open` }))
  .sinkTo(sentences)

await env.execute('rich functions')
for (const sentence of sentences.values.toSorted()) console.log(sentence)
