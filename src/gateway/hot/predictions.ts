import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import type { EncodedPairs, PairPredictions } from '../../wire/encoded-pairs.ts'
import type { PredictOptions } from '../../wire/model-reader.ts'
import { DEFAULT_DEADLINE_MS } from '../http/query-options.ts'
import { DEFAULT_STATE } from '../http/schemas.ts'
import type { ServedState } from '../port/services.ts'
import { type PredictedPair, predictionBody } from '../routes/prediction-body.ts'
import { mostBytesOf, predictionsBody, writeScores } from '../routes/predictions-body.ts'
import type { AnswerText } from './answer-text.ts'
import { giveBuffer, takeBuffer } from './batch-buffers.ts'
import type { AnswerBytes, HotAnswer, HotExchange } from './connection.ts'
import type { HotRequest } from './request-reader.ts'
import type { HotRoute } from './route.ts'

/** A request for predictions. */
type PredictionRequest = Extract<HotRequest, { readonly kind: 'pair' | 'pairs' }>

/** The routes of single pairs and of batches. */
export type PredictionRoutes = Readonly<Record<PredictionRequest['kind'], HotRoute>>

/** The object of all hot predictions. */
const MODEL = { kind: 'state', name: DEFAULT_STATE } as const

const OPTIONS: PredictOptions = {
  consistency: { level: 'live' },
  deadlineMs: DEFAULT_DEADLINE_MS,
  ...MEAN_IF_UNKNOWN,
}

/**
 * Answers predictions of single pairs and of batches. Those of all connections that arrive in one turn of
 * the event loop are asked together, so that pairs share a frame on the way to the job, and batches a write.
 */
export class HotPredictions {
  private readonly state: ServedState
  private readonly text: AnswerText
  private readonly routes: PredictionRoutes
  private asked: [HotExchange, PredictionRequest][] = []

  constructor(state: ServedState, routes: PredictionRoutes) {
    this.state = state
    this.text = routes.pair.text
    this.routes = routes
  }

  /** Answers a request with a bearer token. */
  answer(exchange: HotExchange, request: PredictionRequest, token: string | undefined): void {
    const who = this.routes[request.kind].admit(exchange, token, { role: 'read', on: MODEL })
    if (who === undefined) return
    if (this.asked.push([exchange, request]) === 1) setImmediate(this.ask)
  }

  private readonly ask = (): void => {
    const { asked } = this
    this.asked = []
    for (const [exchange, request] of asked) {
      const route = this.routes[request.kind]
      this.answerOf(request).then(
        (answer) => route.send(exchange, 200, answer),
        (error: unknown) => route.fail(exchange, error),
      )
    }
  }

  private answerOf(request: PredictionRequest): Promise<HotAnswer> {
    return request.kind === 'pair' ? this.predict(request) : this.predictPairs(request.pairs)
  }

  private async predict(pair: PredictedPair): Promise<string> {
    const { state, text } = this
    const { user, item } = pair
    const answer = await state.predictWithEnvelope(
      DEFAULT_STATE,
      alsKey(user, 'U'),
      alsKey(item, 'I'),
      OPTIONS,
    )
    if (!answer.ok) throw answer.error
    return text.ok(predictionBody(pair, answer))
  }

  private async predictPairs(pairs: EncodedPairs): Promise<HotAnswer> {
    const { state, text } = this
    const predictions = await state.predictPairs(DEFAULT_STATE, pairs, OPTIONS)
    giveBuffer(pairs.bytes)
    if (predictions.errors.size === 0) return this.answerOfScores(predictions)
    return text.ok(String(predictionsBody(predictions)))
  }

  private answerOfScores(predictions: PairPredictions): AnswerBytes {
    const { text } = this
    const { headRoom } = text
    const buffer = takeBuffer(headRoom + mostBytesOf(predictions))
    const end = writeScores(buffer, headRoom, predictions)
    return { bytes: text.okAround(buffer, headRoom, end), sent: () => giveBuffer(buffer) }
  }
}
