import { expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { PrintSink } from '../../../src/operators/basic/print-sink.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

async function linesOf(prefix: string, parallelism: number, value: unknown): Promise<string> {
  let lines = ''
  const writer = new PrintSink(prefix, (line) => {
    lines += line
  }).createWriter()
  const context = {
    ...{ jobName: 'job', operatorUid: 'print', subtask: 1, parallelism, attempt: 1 },
    clock: systemClock,
    metrics: new MetricGroup(),
  }
  await writer.open(context, [])
  writer.write(value, 0)
  return lines
}

it.each([
  ['', 1, 'text as it is', 'text as it is\n'],
  ['', 2, 7, '2> 7\n'],
  ['out', 1, [1n, 'a'], "out> [ 1n, 'a' ]\n"],
  [
    'out',
    2,
    new Map([['deep', { a: { b: { c: [1] } } }]]),
    "out:2> Map(1) { 'deep' => { a: { b: { c: [ 1 ] } } } }\n",
  ],
])(
  'print("%s") in the second of %i subtasks writes one line',
  async (prefix, parallelism, value, line) => {
    expect(await linesOf(prefix, parallelism, value)).toBe(line)
  },
)

it('prints to the standard error where it is asked to', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
    env.fromElements(['hot']).printToErr('alarm')
    await env.execute()
    expect(written.mock.calls.map(([line]) => line)).toEqual(['alarm> hot\n'])
  } finally {
    written.mockRestore()
  }
})
