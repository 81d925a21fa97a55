import type { FastifyInstance } from 'fastify'
import type { AccessControl } from '../../access/control.ts'
import type { Clock } from '../../core/clock.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { ServedState } from '../port/services.ts'
import { PAIRS_ROUTE, PREDICT_ROUTE } from '../routes/predict.ts'
import { AnswerText } from './answer-text.ts'
import { HotListener } from './listener.ts'
import { HotPredictions } from './predictions.ts'

/** Longest body of a hot request: that of a batch of the most pairs with ids of usual length. */
const MAX_BODY_BYTES = 128 * 1024

/** What the hot routes share with the others. */
export interface HotRoutesContext {
  readonly state: ServedState
  readonly clock: Clock
  readonly requests: RequestMetrics
  readonly access?: AccessControl
}

/**
 * Lets connections of the server answer the usual form of hot requests, without node:http. Every other
 * form of the same requests has the same answers from its Fastify route.
 */
export function addHotRoutes(app: FastifyInstance, context: HotRoutesContext): void {
  const predictions = new HotPredictions({
    state: context.state,
    text: new AnswerText(context.clock, app.server.keepAliveTimeout),
    metrics: {
      pair: context.requests.of('GET', PREDICT_ROUTE),
      pairs: context.requests.of('POST', PAIRS_ROUTE),
    },
    log: app.log,
    access: context.access,
  })
  const { bodyLimit = MAX_BODY_BYTES } = app.initialConfig
  const maxBodyBytes = Math.min(bodyLimit, MAX_BODY_BYTES)
  const listener = new HotListener(app.server, predictions.answer, maxBodyBytes)
  app.addHook('preClose', async () => listener[Symbol.dispose]())
}
