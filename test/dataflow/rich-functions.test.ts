import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { KeyedFunctionContext } from '../../src/operators/process/function.ts'
import type { RichFlatMapFunction } from '../../src/operators/process/rich-function.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

const environment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ parallelism: 2, executor: new LocalExecutor() })

const numbers = [1, 2, 3, 4, 5, 6, 7, 8]

/** Emits each third record of its key. */
class EachThird implements RichFlatMapFunction<number, number, KeyedFunctionContext> {
  private seen!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.seen = context.getState(valueState<number>('seen'))
  }

  flatMap(n: number, out: { collect(n: number): void }): void {
    const seen = (this.seen.value() ?? 0) + 1
    this.seen.update(seen)
    if (seen % 3 === 0) out.collect(n)
  }
}

describe('rich functions of a stream', () => {
  it('are made once for every subtask, and once to be looked at', async () => {
    const env = environment()
    const sink = new MemorySink<string>()
    let made = 0
    const opened: string[] = []
    env
      .fromElements(numbers)
      .rebalance()
      .richMap(() => {
        const number = made++
        return {
          open: ({ subtask, parallelism }) => void opened.push(`${subtask}/${parallelism}`),
          map: (n: number) => `${n}:${number}`,
          close: () => void opened.push('closed'),
        }
      })
      .richFilter(() => ({ filter: (text) => !text.startsWith('8') }))
      .sinkTo(sink)
    await env.execute()
    expect(made).toBe(3)
    expect(opened.sort()).toEqual(['0/2', '1/2', 'closed', 'closed'])
    expect(sink.values.map((text) => text[0]).sort()).toEqual([...'1234567'])
  })

  it('have state of the key after keyBy', async () => {
    const env = environment()
    const thirds = new MemorySink<number>()
    const sums = new MemorySink<number>()
    const keyed = env.fromElements(numbers).keyBy((n) => n % 2)
    keyed.richFlatMap(() => new EachThird()).sinkTo(thirds)
    keyed.richReduce(() => ({ reduce: (a, b) => a + b })).sinkTo(sums)
    await env.execute()
    expect(thirds.values.toSorted()).toEqual([5, 6])
    expect(Math.max(...sums.values)).toBe(2 + 4 + 6 + 8)
  })

  it('read two streams, with keys and without', async () => {
    const env = environment()
    const both = new MemorySink<string>()
    const known = new MemorySink<string>()
    const words = env.fromElements(['1', '2', '3'])
    const connected = env.fromElements([1, 2]).connect(words)
    connected
      .map<string>(() => ({ map1: (n) => `number ${n}`, map2: (word) => `word ${word}` }))
      .sinkTo(both)
    connected
      .keyBy(
        (n) => `${n}`,
        (word) => word,
      )
      .flatMap<string>(() => {
        let seen: ValueState<string>
        const meet = (side: string, text: string, out: { collect(text: string): void }): void => {
          if ((seen.value() ?? side) !== side) out.collect(text)
          seen.update(side)
        }
        return {
          open(context) {
            seen = context.getState(valueState<string>('seen'))
          },
          flatMap1: (n, out) => meet('number', `${n}`, out),
          flatMap2: (word, out) => meet('word', word, out),
        }
      })
      .sinkTo(known)
    await env.execute()
    expect(both.values.toSorted()).toEqual(['number 1', 'number 2', 'word 1', 'word 2', 'word 3'])
    expect(known.values.toSorted()).toEqual(['1', '2'])
  })
})
