import type { FastifyBaseLogger } from 'fastify'
import type { AccessControl } from '../../access/control.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import { type Refusal, refusalOf } from '../http/authorization.ts'
import { loggedProblem } from '../http/errors.ts'
import { problemFieldsOf } from '../http/problem.ts'
import { DEFAULT_DEADLINE_MS } from '../http/query-options.ts'
import { DEFAULT_STATE } from '../http/schemas.ts'
import type { RouteMetrics } from '../metrics/request-metrics.ts'
import { listText } from '../recommender/listing.ts'
import type { Recommender } from '../recommender/recommender.ts'
import type { AnswerText } from './answer-text.ts'
import type { HotExchange } from './connection.ts'
import type { RecommendRequest } from './request-reader.ts'

/** What hot recommendations work with. */
export interface HotRecommendationsContext {
  readonly recommender: Pick<Recommender, 'recommend'>
  readonly text: AnswerText
  /** Metrics of the route that answers other forms of the same requests. */
  readonly metrics: RouteMetrics
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>
  /** @default every request may run */
  readonly access: AccessControl | undefined
}

/** The object of all hot recommendations. */
const MODEL = { kind: 'state', name: DEFAULT_STATE } as const

const OPTIONS: QueryOptions = {
  consistency: { level: 'live' },
  deadlineMs: DEFAULT_DEADLINE_MS,
}

/** Answers requests for the best items of a user. */
export class HotRecommendations {
  private readonly context: HotRecommendationsContext

  constructor(context: HotRecommendationsContext) {
    this.context = context
  }

  /** Answers a request with a bearer token. */
  answer(exchange: HotExchange, request: RecommendRequest, token: string | undefined): void {
    const decision = this.context.access?.authorize(token, 'read', {
      on: MODEL,
      from: exchange.from,
    })
    if (decision !== undefined && decision.kind !== 'allowed') {
      this.refuse(exchange, refusalOf(decision))
    } else void this.recommend(exchange, request)
  }

  private async recommend(exchange: HotExchange, request: RecommendRequest): Promise<void> {
    const { recommender, text } = this.context
    const { user, howMany, type } = request
    try {
      const items = await recommender.recommend(user, { howMany, offset: 0 }, OPTIONS)
      this.send(exchange, 200, text.list(type, listText(type, items)))
    } catch (thrown) {
      const problem = loggedProblem(this.context.log, thrown)
      this.refuse(exchange, { problem, fields: problemFieldsOf(problem) })
    }
  }

  private refuse(exchange: HotExchange, refusal: Refusal): void {
    this.send(exchange, refusal.problem.status, this.context.text.problem(refusal))
  }

  private send(exchange: HotExchange, status: number, answer: string): void {
    exchange.finish(answer)
    this.context.metrics.observe(status, performance.now() - exchange.startedMs)
  }
}
