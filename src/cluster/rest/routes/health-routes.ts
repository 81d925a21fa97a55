import type { FastifyInstance } from 'fastify'
import { notReadyBecause } from '../json/waiting.ts'
import type { RouteContext } from './context.ts'

const PROBE = { config: { isPublic: true, query: [] } }

/**
 * The probes of a supervisor: whether the process lives, whether it can do its work, and whether it could once. The
 * process of a job cannot while its job does not run, or waits for a service outside; a JobManager always can, because each of its
 * jobs has a process of its own.
 */
export function healthRoutes(app: FastifyInstance, { cluster }: RouteContext): void {
  let hasBeenReady = false
  const waitingNow = async (): Promise<string[]> => {
    const jobs = cluster.isJobManager ? [] : await cluster.jobs()
    const waiting = jobs.flatMap(notReadyBecause)
    if (waiting.length === 0) hasBeenReady = true
    return waiting
  }
  app.get('/health/live', PROBE, async () => ({ live: true }))
  app.get('/health/ready', PROBE, async (_request, reply) => {
    const waiting = await waitingNow()
    const ready = waiting.length === 0
    return await reply.code(ready ? 200 : 503).send({ ready, waiting })
  })
  app.get('/health/startup', PROBE, async (_request, reply) => {
    const waiting = hasBeenReady ? [] : await waitingNow()
    return await reply.code(hasBeenReady ? 200 : 503).send({ started: hasBeenReady, waiting })
  })
}
