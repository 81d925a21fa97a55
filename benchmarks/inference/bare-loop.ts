import { availableParallelism } from 'node:os'
import type { InferenceSession, Tensor } from 'onnxruntime-node'

/** Result of a loop of ONNX Runtime calls without anything around them. */
export interface BareLoop {
  readonly perSecond: number
  /** Times of the calls in ascending order, ms. */
  readonly times: readonly number[]
}

/** Runs one input again and again for `seconds`, with the threads that one worker has. */
export async function bareLoop(
  file: string,
  input: { readonly name: string; readonly shape: readonly number[] },
  seconds: number,
): Promise<BareLoop> {
  const runtime = (await import('onnxruntime-node')).default
  const session: InferenceSession = await runtime.InferenceSession.create(file, {
    intraOpNumThreads: availableParallelism(),
    logSeverityLevel: 4,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  })
  const elements = input.shape.reduce((product, size) => product * size, 1)
  const values = new Float32Array(elements).fill(0.5)
  const feeds: Record<string, Tensor> = {
    [input.name]: new runtime.Tensor('float32', values, input.shape),
  }
  await session.run(feeds)
  const times: number[] = []
  const startedAt = performance.now()
  while (performance.now() - startedAt < seconds * 1000) {
    const before = performance.now()
    await session.run(feeds)
    times.push(performance.now() - before)
  }
  await session.release()
  const perSecond = (times.length / (performance.now() - startedAt)) * 1000
  return { perSecond, times: times.sort((a, b) => a - b) }
}
