import type { FastifyInstance } from 'fastify'
import type { ServedState } from '../port/services.ts'
import { requireLiveModel } from './live-model.ts'

/** Adds the probes of a supervisor: whether the gateway runs, and whether a model is live. */
export function addHealthRoutes(app: FastifyInstance, state: ServedState): void {
  app.get(
    '/v1/health/live',
    {
      config: { role: 'public' },
      schema: {
        tags: ['health'],
        summary: 'Whether the gateway runs',
        response: {
          200: {
            description: 'It runs.',
            type: 'object',
            properties: { live: { type: 'boolean' } },
          },
        },
      },
    },
    async () => ({ live: true }),
  )
  app.get(
    '/v1/health/ready',
    {
      config: { role: 'public' },
      schema: {
        tags: ['health'],
        summary: 'Whether a model version is live and can be read',
        response: {
          200: {
            description: 'It is.',
            type: 'object',
            properties: { ready: { type: 'boolean' } },
          },
        },
      },
    },
    async () => {
      await requireLiveModel(state)
      return { ready: true }
    },
  )
}
