import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import {
  addHistograms,
  FixedHistogram,
  type HistogramSnapshot,
} from '../../core/prometheus/histogram.ts'

/** Durations of the requests of one route that were answered with one status, in seconds. */
export interface RequestSeries {
  readonly method: string
  /** The route's pattern (`/v1/predict/:user/:item`), so that ids of users make no series. */
  readonly route: string
  readonly status: number
  readonly seconds: HistogramSnapshot
}

type Done = () => void

const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const FIRST_STATUS = 100
const STATUSES = 500
/** Route of requests for a path that does not exist. */
const NO_ROUTE = 'none'

/** Measures the requests of one gateway. A request allocates nothing but the first of its series. */
export class RequestMetrics {
  private readonly routes: RouteMetrics[] = []

  /** Measures every route that is added from now on, and requests for paths that do not exist. */
  addTo(app: FastifyInstance): void {
    app.addHook('onRoute', (route) => this.measure(route))
    const missing = new RouteMetrics('any', NO_ROUTE)
    this.routes.push(missing)
    app.addHook('onResponse', (request, reply, done) => {
      if (request.is404) missing.observe(reply.statusCode, reply.elapsedTime)
      done()
    })
  }

  /** Metrics of a route that was added. Throws ILLEGAL_STATE for another one. */
  of(method: string, route: string): RouteMetrics {
    const found = this.routes.find((one) => one.method === method && one.route === route)
    if (found !== undefined) return found
    throw new WeirError('ILLEGAL_STATE', `the gateway has no route ${method} ${route}`)
  }

  /** Metrics of a route that no server of HTTP has. */
  added(method: string, route: string): RouteMetrics {
    const metrics = new RouteMetrics(method, route)
    this.routes.push(metrics)
    return metrics
  }

  snapshot(): RequestSeries[] {
    return this.routes.flatMap((route) => route.snapshot())
  }

  private measure(route: RouteOptions): void {
    const metrics = new RouteMetrics([route.method].flat().join(','), route.url)
    this.routes.push(metrics)
    const observe = (_request: FastifyRequest, reply: FastifyReply, done: Done): void => {
      metrics.observe(reply.statusCode, reply.elapsedTime)
      done()
    }
    route.onResponse = [...[route.onResponse ?? []].flat(), observe]
  }
}

/** Durations of the requests of one route. */
export class RouteMetrics {
  readonly method: string
  readonly route: string
  private readonly byStatus = new Array<FixedHistogram | undefined>(STATUSES).fill(undefined)

  constructor(method: string, route: string) {
    this.method = method
    this.route = route
  }

  /** Counts a request that was answered with `status` after `elapsedMs`. */
  observe(status: number, elapsedMs: number): void {
    const index = status - FIRST_STATUS
    let histogram = this.byStatus[index]
    if (histogram === undefined) {
      histogram = new FixedHistogram(BOUNDS)
      this.byStatus[index] = histogram
    }
    histogram.observe(elapsedMs / 1000)
  }

  snapshot(): RequestSeries[] {
    const { method, route } = this
    return this.byStatus.flatMap((histogram, index) => {
      if (histogram === undefined) return []
      return [{ method, route, status: FIRST_STATUS + index, seconds: histogram.snapshot() }]
    })
  }
}

/** The series of several threads, those of the same route and status added up. */
export function addRequestSeries(all: readonly RequestSeries[]): RequestSeries[] {
  const sums = new Map<string, RequestSeries>()
  for (const series of all) {
    const key = `${series.method} ${series.status} ${series.route}`
    const sum = sums.get(key)
    const seconds = sum === undefined ? series.seconds : addHistograms(sum.seconds, series.seconds)
    sums.set(key, { ...series, seconds })
  }
  return [...sums.values()]
}
