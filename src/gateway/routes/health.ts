import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import type { GatewayServices, ObservationTopic } from '../port/services.ts'
import { requireLiveModel } from './live-model.ts'

/** Time in which the topic of observations must answer a probe, ms. */
const TOPIC_MS = 2_000

/**
 * Adds the probes of a supervisor: whether the gateway runs, and whether it can do its work: a model is live, and the
 * topic that takes observations answers.
 */
export function addHealthRoutes(
  app: FastifyInstance,
  { state, observations }: Pick<GatewayServices, 'state' | 'observations'>,
): void {
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
        summary:
          'Whether a model version is live, and observations are taken where there is a topic',
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
      await requireTopic(observations)
      return { ready: true }
    },
  )
}

/** Throws UNAVAILABLE while the topic of observations cannot be reached; the log has the address and the cause. */
async function requireTopic(observations: ObservationTopic | undefined): Promise<void> {
  try {
    await observations?.reachable(TOPIC_MS)
  } catch (cause) {
    const message = 'the topic of observations cannot be reached; predictions are answered'
    throw new WeirError('UNAVAILABLE', message, { cause })
  }
}
