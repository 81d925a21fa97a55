import { parentPort, workerData } from 'node:worker_threads'
import { seededRandom } from '../../src/core/random.ts'
import { ThreadProducer } from '../../src/inference/engine/thread-producer.ts'
import type { SharedModel } from '../../src/inference/port/producer-message.ts'
import { floats, floatsOf } from '../../test/system/inference/models.ts'

/** Data of a thread that asks a model many times. */
export interface AskingStart {
  readonly producer: number
  readonly model: SharedModel
  /** One word; the thread ends when it is 1. */
  readonly isOver: Int32Array
  readonly seed: number
}

/** What became of the requests of a thread. */
export interface AskingEnd {
  readonly right: number
  readonly wrong: number
  readonly errors: Readonly<Record<string, number>>
}

const { producer: number, model, isOver, seed } = workerData as AskingStart
const producer = new ThreadProducer(number)
producer.add(model)
const random = seededRandom(seed)
let right = 0
let wrong = 0
const errors: Record<string, number> = {}

/** Asks one request after the other until the end; some are given up at once. */
async function ask(): Promise<void> {
  while (Atomics.load(isOver, 0) === 0) {
    const value = random.below(1000)
    const isGivenUp = random.next() < 0.05
    const signal = isGivenUp ? AbortSignal.timeout(random.below(3)) : undefined
    try {
      const { outputs } = await producer.infer({
        model: model.served.id,
        inputs: [floats('x', [2], [value, value + 1])],
        ...(signal === undefined ? {} : { signal }),
      })
      const [first, second] = floatsOf(outputs[0]!)
      if (first === 2 * value && second === 2 * value + 2) right++
      else wrong++
    } catch (error) {
      const code = signal?.aborted ? 'given up' : String((error as { code?: string }).code)
      errors[code] = (errors[code] ?? 0) + 1
    }
  }
}

await Promise.all(Array.from({ length: 8 }, ask))
parentPort?.postMessage({ right, wrong, errors } satisfies AskingEnd)
producer.close()
