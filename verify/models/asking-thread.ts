import { parentPort, workerData } from 'node:worker_threads'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import { ThreadProducer } from '../../src/inference/engine/thread-producer.ts'
import type { SharedModel } from '../../src/inference/port/producer-message.ts'
import { floats, floatsOf } from '../../test/system/inference/models.ts'
import { AnswerTally, type TallyCounts } from './answer-tally.ts'

/** Data of a thread that asks a model many times. */
export interface AskingStart {
  readonly producer: number
  readonly model: SharedModel
  /** One word; the thread ends when it is 1. */
  readonly isOver: Int32Array
  readonly seed: number
}

/** What became of the requests of a thread. */
export interface AskingEnd extends TallyCounts {
  /** Requests that ended without an answer, by the code of their error. */
  readonly errors: Readonly<Record<string, number>>
}

/** A message of a thread: that it has its first answer, and at its end what became of its requests. */
export type AskingMessage = 'answered' | AskingEnd

const { producer: number, model, isOver, seed } = workerData as AskingStart
const producer = new ThreadProducer(number)
producer.add(model)
const random = seededRandom(seed)
/** Requests of each producer have numbers of their own. */
const tally = new AnswerTally(number * 2 ** 32)
/** Longest wait for the end of the last requests: longer than their deadline, ms. */
const LAST_MS = 120_000
const errors: Record<string, number> = {}

let hasAnswer = false

/** Says once that an answer has come. */
function noteAnswer(): void {
  if (!hasAnswer) parentPort?.postMessage('answered' satisfies AskingMessage)
  hasAnswer = true
}

/** Asks one request after the other until the end; some are given up at once. */
async function ask(): Promise<void> {
  while (Atomics.load(isOver, 0) === 0) {
    const request = tally.ask()
    const isGivenUp = random.next() < 0.05
    const signal = isGivenUp ? AbortSignal.timeout(random.below(3)) : undefined
    try {
      const { outputs } = await producer.infer({
        model: model.served.id,
        inputs: [floats('x', [2], tally.floatsOf(request))],
        ...(signal === undefined ? {} : { signal }),
      })
      tally.answered(request, floatsOf(outputs[0]!))
      noteAnswer()
    } catch (error) {
      tally.failed(request)
      const code = signal?.aborted ? 'given up' : String((error as { code?: string }).code)
      errors[code] = (errors[code] ?? 0) + 1
    }
  }
}

/** Resolves some time after the end; a request that has not ended by then never will. */
async function overdue(): Promise<void> {
  while (Atomics.load(isOver, 0) === 0) await sleep(systemClock, 100)
  await sleep(systemClock, LAST_MS)
}

await Promise.race([Promise.all(Array.from({ length: 8 }, ask)), overdue()])
parentPort?.postMessage({ ...tally.counts, errors } satisfies AskingMessage)
producer.close()
