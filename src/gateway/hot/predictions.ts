import type { FastifyBaseLogger } from 'fastify'
import type { AccessControl } from '../../access/control.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import type { EncodedPairs, PairPredictions } from '../../wire/encoded-pairs.ts'
import type { PredictOptions } from '../../wire/model-reader.ts'
import { type Refusal, refusalOf } from '../http/authorization.ts'
import { loggedProblem } from '../http/errors.ts'
import { problemFieldsOf } from '../http/problem.ts'
import { DEFAULT_DEADLINE_MS } from '../http/query-options.ts'
import { DEFAULT_STATE } from '../http/schemas.ts'
import type { RouteMetrics } from '../metrics/request-metrics.ts'
import type { ServedState } from '../port/services.ts'
import { type PredictedPair, predictionBody } from '../routes/prediction-body.ts'
import { mostBytesOf, predictionsBody, writeScores } from '../routes/predictions-body.ts'
import type { AnswerText } from './answer-text.ts'
import { giveBuffer, takeBuffer } from './batch-buffers.ts'
import type { AnswerBytes, HotAnswer, HotExchange } from './connection.ts'
import type { HotRequest } from './request-reader.ts'

/** What hot predictions work with. */
export interface HotPredictionsContext {
  readonly state: ServedState
  readonly text: AnswerText
  /** Metrics of the routes that answer other forms of the same requests. */
  readonly metrics: Readonly<Record<PredictionRequest['kind'], RouteMetrics>>
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>
  /** @default every request may run */
  readonly access: AccessControl | undefined
}

/** A request for predictions. */
type PredictionRequest = Extract<HotRequest, { readonly kind: 'pair' | 'pairs' }>

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
  private readonly context: HotPredictionsContext
  private asked: [HotExchange, PredictionRequest][] = []

  constructor(context: HotPredictionsContext) {
    this.context = context
  }

  /** Answers a request with a bearer token. */
  answer(exchange: HotExchange, request: PredictionRequest, token: string | undefined): void {
    const decision = this.context.access?.authorize(token, 'read', {
      on: MODEL,
      from: exchange.from,
    })
    if (decision !== undefined && decision.kind !== 'allowed') {
      this.refuse(exchange, request, refusalOf(decision))
      return
    }
    if (this.asked.push([exchange, request]) === 1) setImmediate(this.ask)
  }

  private readonly ask = (): void => {
    const { asked } = this
    this.asked = []
    for (const [exchange, request] of asked) {
      this.answerOf(request).then(
        (answer) => this.send(exchange, request, 200, answer),
        (error: unknown) => this.fail(exchange, request, error),
      )
    }
  }

  private answerOf(request: PredictionRequest): Promise<HotAnswer> {
    return request.kind === 'pair' ? this.predict(request) : this.predictPairs(request.pairs)
  }

  private async predict(pair: PredictedPair): Promise<string> {
    const { state, text } = this.context
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
    const { state, text } = this.context
    const predictions = await state.predictPairs(DEFAULT_STATE, pairs, OPTIONS)
    giveBuffer(pairs.bytes)
    if (predictions.errors.size === 0) return this.answerOfScores(predictions)
    return text.ok(String(predictionsBody(predictions)))
  }

  private answerOfScores(predictions: PairPredictions): AnswerBytes {
    const { text } = this.context
    const { headRoom } = text
    const buffer = takeBuffer(headRoom + mostBytesOf(predictions))
    const end = writeScores(buffer, headRoom, predictions)
    return { bytes: text.okAround(buffer, headRoom, end), sent: () => giveBuffer(buffer) }
  }

  private fail(exchange: HotExchange, request: PredictionRequest, thrown: unknown): void {
    const problem = loggedProblem(this.context.log, thrown)
    this.refuse(exchange, request, { problem, fields: problemFieldsOf(problem) })
  }

  private refuse(exchange: HotExchange, request: PredictionRequest, refusal: Refusal): void {
    this.send(exchange, request, refusal.problem.status, this.context.text.problem(refusal))
  }

  private send(
    exchange: HotExchange,
    { kind }: PredictionRequest,
    status: number,
    answer: HotAnswer,
  ): void {
    exchange.finish(answer)
    this.context.metrics[kind].observe(status, performance.now() - exchange.startedMs)
  }
}
