import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

const failing = (n: number): number => {
  if (n === 2) throw new Error('no key')
  return n
}

/** What the job of this stream ends with. */
async function messageOf(build: (numbers: DataStream<number>) => DataStream<number>) {
  const env = new StreamExecutionEnvironment({ parallelism: 1, executor: new LocalExecutor() })
  const numbers = env
    .fromElements([1, 2, 3], monotonousTimestamps({ timestampOf: (n) => n }))
    .map((n) => n)
    .name('Copy')
  build(numbers).sinkTo(new MemorySink())
  return await env.execute().then(
    () => undefined,
    (error: Error) => error.message,
  )
}

describe('the failure of a key selector', () => {
  it.each([
    {
      what: 'that throws',
      build: (numbers) =>
        numbers
          .keyBy(failing)
          .reduce((a, b) => a + b)
          .name('Total'),
      sentence: /the key selector of keyBy before operator Total, task .* failed: no key/,
    },
    {
      what: 'that throws no object',
      build: (numbers) => {
        const thrown: unknown = 'no key'
        const selector = (): number => {
          throw thrown
        }
        return numbers
          .keyBy(selector)
          .reduce((a, b) => a + b)
          .name('Total')
      },
      sentence: /the key selector of keyBy before operator Total, task .* failed: no key/,
    },
    {
      what: 'whose key is not plain',
      build: (numbers) =>
        numbers
          .keyBy(() => null as never)
          .reduce((a, b) => a + b)
          .name('Total'),
      sentence:
        /the key selector of keyBy before operator Total, task .* failed: a key is a string/,
    },
    {
      what: 'before an operator that is folded at its senders',
      build: (numbers) =>
        numbers
          .keyBy(failing)
          .window(tumblingEventTimeWindows(10))
          .reduce((a, b) => a + b)
          .name('Total'),
      sentence: /the key selector of keyBy before operator Total, task .* failed: no key/,
    },
    {
      what: 'of a stream that is keyed already',
      build: (numbers) =>
        numbers
          .reinterpretAsKeyedStream(failing)
          .reduce((a, b) => a + b)
          .name('Total'),
      sentence:
        /the key selector of reinterpretAsKeyedStream before operator Total, task .* failed: no key/,
    },
  ] satisfies {
    what: string
    build: (numbers: DataStream<number>) => DataStream<number>
    sentence: RegExp
  }[])('names the operator that has the keys: one $what', async ({ build, sentence }) => {
    expect(await messageOf(build)).toMatch(sentence)
  })

  it('is none of the operator before it, whose own failure names it', async () => {
    const message = await messageOf((numbers) =>
      numbers
        .map(failing)
        .keyBy((n) => n)
        .reduce((a, b) => a + b),
    )
    expect(message).toMatch(/: operator Map, task .* failed: no key/)
  })
})
