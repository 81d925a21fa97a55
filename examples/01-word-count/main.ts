/**
 * The smallest job: lines in, words counted per key in state, counts out. Run it with
 *
 *   npx node examples/01-word-count/main.ts
 */
import {
  type Collector,
  type KeyedFunctionContext,
  type KeyedProcessContext,
  type KeyedProcessFunction,
  LocalExecutor,
  MemorySink,
  StreamExecutionEnvironment,
  type ValueState,
  valueState,
} from '../../src/index.ts'

type Count = readonly [word: string, count: number]

/** Emits the new count after each word. */
class CountWords implements KeyedProcessFunction<string, string, Count> {
  private count!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.count = context.getState(valueState<number>('count'))
  }

  processElement(word: string, _: KeyedProcessContext<string>, out: Collector<Count>): void {
    const count = (this.count.value() ?? 0) + 1
    this.count.update(count)
    out.collect([word, count])
  }
}

const lines = [
  'a weir is a barrier across a stream',
  'that raises what flows over it',
  'and lets you measure what flows',
]

const counts = new MemorySink<Count>()
const env = new StreamExecutionEnvironment({ parallelism: 2, executor: new LocalExecutor() })

env
  .fromElements(lines)
  .flatMap((line) => line.split(' '))
  .name('Split into words')
  .keyBy((word) => word)
  .process(() => new CountWords())
  .name('Count')
  .uid('count')
  .sinkTo(counts)

await env.execute('word-count')

const latest = new Map(counts.values)
for (const [word, count] of [...latest].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))) {
  console.log(`${String(count).padStart(3)}  ${word}`)
}
