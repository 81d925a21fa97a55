import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { AccessControl } from '../../http/access/control.ts'
import type { TrustedProxies } from '../../http/access/trusted-proxies.ts'
import type { CountedConnection } from '../../http/address-share.ts'
import type { FairTurns } from '../../http/fair-turns.ts'
import { inferenceProblem } from '../http/problem.ts'
import type { InferenceAnswers } from '../inference/answers.ts'
import { INFER_ROUTES } from '../inference/routes.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { ObservationTopic, ServedState } from '../port/services.ts'
import type { Recommender } from '../recommender/recommender.ts'
import { RECOMMEND_ROUTE } from '../recommender/routes.ts'
import { OBSERVE_ROUTE } from '../routes/observe.ts'
import { PAIRS_ROUTE, PREDICT_ROUTE } from '../routes/predict.ts'
import { AnswerText } from './answer-text.ts'
import { HotInferences } from './inferences.ts'
import { type AnswerHot, HotListener } from './listener.ts'
import { HotObservations } from './observations.ts'
import { HotPredictions } from './predictions.ts'
import { HotRecommendations } from './recommendations.ts'
import { type HotPort, HotRoute } from './route.ts'

/** Longest body of a hot request: that of a batch of the most pairs with ids of usual length. */
const MAX_BODY_BYTES = 128 * 1024

/** Longest hot observation: two ids of usual length, and two numbers. */
const MAX_OBSERVATION_BYTES = 1024

/** What the hot routes share with the others. */
export interface HotRoutesContext {
  readonly state: ServedState
  /** @default the gateway takes no observations */
  readonly observations?: ObservationTopic | undefined
  /** Turns of the clients of the port. */
  readonly turns: FairTurns
  readonly answers: InferenceAnswers
  readonly recommender: Recommender
  readonly clock: Clock
  readonly requests: RequestMetrics
  readonly access?: AccessControl
  /** Proxies before the port, whose requests are left to Fastify. @default none */
  readonly proxies?: TrustedProxies
  /** As of `ConnectionOwner`, with the connection's socket. */
  readonly requested: (socket: Socket) => CountedConnection | undefined
  /** Leaves requests that name another host than this machine to Fastify, which refuses them. @default false */
  readonly onlyLoopbackNames?: boolean
}

/**
 * Lets connections of the server answer the usual form of hot requests, without node:http. Every other
 * form of the same requests has the same answers from its Fastify route.
 */
export function addHotRoutes(app: FastifyInstance, context: HotRoutesContext): void {
  const { requests } = context
  const port: HotPort = {
    text: new AnswerText(context.clock, app.server.keepAliveTimeout),
    log: app.log,
    access: context.access,
  }
  const routeOf = (method: string, path: string): HotRoute =>
    new HotRoute(port, requests.of(method, path))
  const predictions = new HotPredictions(context.state, {
    pair: routeOf('GET', PREDICT_ROUTE),
    pairs: routeOf('POST', PAIRS_ROUTE),
  })
  const [live, version] = INFER_ROUTES.map(
    (path) => new HotRoute(port, requests.of('POST', path), inferenceProblem),
  )
  const inferences = new HotInferences(context.answers, { live: live!, version: version! })
  const recommendations = new HotRecommendations(
    context.recommender,
    routeOf('GET', RECOMMEND_ROUTE),
  )
  const { observations: topic, state, turns } = context
  const observations =
    topic && new HotObservations({ topic, state, turns }, routeOf('POST', OBSERVE_ROUTE))
  const { bodyLimit = MAX_BODY_BYTES } = app.initialConfig
  const maxBodyBytes = Math.min(bodyLimit, MAX_BODY_BYTES)
  const answer: AnswerHot = (exchange, token) => {
    const proof = context.access?.prove(token)
    if (proof === undefined) answerProven(exchange, token)
    else void proof.then(() => answerProven(exchange, token))
  }
  const answerProven: AnswerHot = (exchange, token) => {
    const { request } = exchange
    if (request.kind === 'infer') inferences.answer(exchange, request, token)
    else if (request.kind === 'recommend') recommendations.answer(exchange, request, token)
    else if (request.kind === 'observation') {
      // Without a topic none is read.
      observations?.answer(exchange, request.observation, token)
    } else predictions.answer(exchange, request, token)
  }
  const { onlyLoopbackNames = false } = context
  const maxObservationBytes = topic === undefined ? 0 : MAX_OBSERVATION_BYTES
  const limits = { maxBodyBytes, maxObservationBytes, onlyLoopbackNames }
  const { requested, proxies } = context
  const isProxy = (address: string): boolean => proxies?.trusts(address) ?? false
  const listener = new HotListener(app.server, { answer, requested, isProxy, limits })
  app.addHook('preClose', async () => listener[Symbol.dispose]())
}
