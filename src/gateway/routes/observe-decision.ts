import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import { addErrorHandlers } from '../http/error-handlers.ts'
import { namedModel } from '../http/objects.ts'
import type { ServedState } from '../port/services.ts'

/** The route that takes rewards for answers of a pipeline. */
export const OBSERVE_DECISION_ROUTE = '/v2/models/:model/observe'

/** A reward for a decision. */
interface RewardBody {
  readonly decision: string
  readonly reward: number
  readonly label?: number
}

const BODY = {
  type: 'object',
  required: ['decision', 'reward'],
  additionalProperties: false,
  properties: {
    decision: {
      type: 'string',
      pattern: '^[0-9a-f]{32}$',
      description: 'The parameter `decision` of the answer, as it is.',
    },
    reward: {
      type: 'number',
      description: 'How good the answer was, in the range that the pipeline declares.',
    },
    label: {
      type: 'integer',
      minimum: 0,
      description: 'The true class, from 0, by which each arm is judged by itself.',
    },
  },
} as const

/** Adds the route that takes rewards for answers of a pipeline. */
export function addObserveDecisionRoute(
  app: FastifyInstance,
  state: Pick<ServedState, 'observeDecision'>,
): void {
  void app.register(async (routes) => {
    addErrorHandlers(routes, ({ detail }) => ({ error: detail }))
    routes.post<{ Body: RewardBody; Params: { readonly model: string } }>(
      OBSERVE_DECISION_ROUTE,
      {
        config: { on: namedModel, document: { problems: [404, 501] } },
        schema: {
          tags: ['inference'],
          summary: 'Say how good an answer of a pipeline was',
          description:
            'A decision takes one reward within its time. The answer says what became of it: `counted`, `duplicate`, `late`, or `unmatched` (of before a restart of the server, or too long ago).',
          params: {
            type: 'object',
            required: ['model'],
            properties: {
              model: { type: 'string', minLength: 1, description: 'Name of a pipeline.' },
            },
          },
          body: BODY,
          response: {
            200: {
              description: 'What became of the reward.',
              type: 'object',
              required: ['reward'],
              properties: {
                reward: { type: 'string', enum: ['counted', 'duplicate', 'late', 'unmatched'] },
              },
            },
          },
        },
      },
      async ({ body, params }) => {
        if (state.observeDecision === undefined) throw elsewhere(params.model)
        return { reward: await state.observeDecision(params.model, body) }
      },
    )
  })
}

function elsewhere(model: string): WeirError {
  const message = `"${model}" takes rewards on the HTTP port of the process that runs it ("weir run models")`
  return new WeirError('UNSUPPORTED', message)
}
