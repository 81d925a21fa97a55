import { describe, expect, it } from 'vitest'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { FailedInference } from '../../../src/operators/inference/function.ts'
import type { InferStreamOptions } from '../../../src/operators/inference/infer-stream.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

const OPTIONS: InferStreamOptions<number, number> = {
  inputs: (value) => [{ name: 'x', shape: [1], data: Float32Array.of(value) }],
  result: (value) => value,
}

function streamOf(options: Partial<InferStreamOptions<number, number>>) {
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
  return { env, stream: env.fromElements([1]).infer('ranker', { ...OPTIONS, ...options }) }
}

describe('DataStream.infer', () => {
  it.each([
    [{ capacity: 0 }, 'infer(...): capacity must be a whole number from 1, not the number 0'],
    [{ deadlineMs: 0 }, 'infer(...): deadlineMs must be a number above 0, not the number 0'],
    [
      { onFailure: () => 0, failures: new OutputTag<FailedInference<number>>('failures') },
      'infer takes onFailure or failures, not both',
    ],
  ])('refuses options outside their range: %o', (options, message) => {
    expect(() => streamOf(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
  })

  it('of a job without models is refused before it starts, and says how to give it some', async () => {
    const { env, stream } = streamOf({})
    stream.print()
    await expect(env.execute()).rejects.toMatchObject({
      code: 'INVALID_GRAPH',
      message:
        'operator "Infer ranker" asks the model ranker, but the job has no models: start it with "weir run JOB --repository DIR", or in a program with the coordinator of JobModels',
    })
  })
})
