import type { FastifyInstance } from 'fastify'
import { requireArgument } from '../../../core/errors.ts'
import type { VertexSnapshot } from '../port/job-snapshot.ts'
import { controlOf, jobOf, paramsOf, type RouteContext } from './context.ts'
import { accept, keyOf, stateJson } from './triggers.ts'

/** Highest parallelism, as in Flink. */
const PARALLELISM = { type: 'integer', minimum: 1, maximum: 32_768 } as const

const RESCALING = {
  schema: {
    params: paramsOf(['jobid']),
    querystring: {
      type: 'object',
      required: ['parallelism'],
      properties: { parallelism: PARALLELISM },
    },
  },
}
const TRIGGER = { schema: { params: paramsOf(['jobid', 'triggerid']) } }
const REQUIREMENTS = {
  schema: {
    params: paramsOf(['jobid']),
    body: {
      type: 'object',
      propertyNames: { pattern: '^[0-9a-fA-F]{32}$' },
      additionalProperties: {
        type: 'object',
        required: ['parallelism'],
        additionalProperties: false,
        properties: {
          parallelism: {
            type: 'object',
            additionalProperties: false,
            required: ['lowerBound', 'upperBound'],
            properties: { lowerBound: PARALLELISM, upperBound: PARALLELISM },
          },
        },
      },
    },
  },
}

/** Bounds of the parallelism of vertices, by the id of the vertex, in Flink's form. */
type Requirements = Readonly<
  Record<
    string,
    { readonly parallelism: { readonly lowerBound: number; readonly upperBound: number } }
  >
>

/** Routes that give a running job another parallelism. */
export function rescalingRoutes(app: FastifyInstance, context: RouteContext): void {
  const { cluster } = context
  app.patch('/jobs/:jobid/rescaling', RESCALING, async (request, reply) => {
    const { parallelism } = request.query as { readonly parallelism: number }
    const acceptance = { request, reply, kind: 'rescaling', status: 200 } as const
    return await accept(context, acceptance, async (job) => {
      await cluster.rescale(job.id, parallelism)
      return {}
    })
  })
  app.get('/jobs/:jobid/rescaling/:triggerid', TRIGGER, async (request) =>
    stateJson(context.operations.stateOf(keyOf(request, 'rescaling'))),
  )
  const path = '/jobs/:jobid/resource-requirements'
  app.get(path, { schema: { params: paramsOf(['jobid']) } }, async (request) => {
    const { vertices } = await jobOf(context, request)
    return Object.fromEntries(vertices.map((vertex) => [vertex.id, requirementOf(vertex)]))
  })
  app.put(path, REQUIREMENTS, async (request) => {
    const job = controlOf(context, request)
    const { vertices } = await job.snapshot()
    await cluster.rescale(job.id, wantedParallelism(vertices, request.body as Requirements))
    return {}
  })
}

/** The parallelism of a vertex is what its job asks for, or what its code fixes. */
function requirementOf({ parallelism, hasOwnParallelism }: VertexSnapshot): object {
  const lowerBound = hasOwnParallelism === true ? parallelism : 1
  return { parallelism: { lowerBound, upperBound: parallelism } }
}

/**
 * The one parallelism that requirements ask for: slots are threads, so that the upper bound can always be had.
 * Throws INVALID_ARGUMENT where vertices are missing, unknown, fixed, or of several parallelisms.
 */
function wantedParallelism(
  vertices: readonly VertexSnapshot[],
  requirements: Requirements,
): number {
  const wanted = new Map(
    Object.entries(requirements).map(([id, { parallelism }]) => [id.toLowerCase(), parallelism]),
  )
  for (const id of wanted.keys()) {
    requireArgument(
      vertices.some((vertex) => vertex.id === id),
      `the job has no vertex ${id}`,
    )
  }
  const bounds = vertices.flatMap((vertex) => {
    const { id, name, parallelism: now, hasOwnParallelism } = vertex
    const bound = wanted.get(id)
    requireArgument(bound !== undefined, `the requirements of vertex ${id} (${name}) are missing`)
    const { lowerBound, upperBound } = bound
    requireArgument(
      lowerBound <= upperBound,
      `vertex ${id}: the lower bound ${lowerBound} is above the upper bound ${upperBound}`,
    )
    if (hasOwnParallelism !== true) return [upperBound]
    requireArgument(
      lowerBound <= now && now <= upperBound,
      `the code fixes the parallelism of vertex ${id} (${name}): it is ${now}`,
    )
    return []
  })
  const [parallelism = 0, ...others] = new Set(bounds)
  requireArgument(
    others.length === 0,
    `the upper bounds are ${[parallelism, ...others].join(', ')}; all operators without a parallelism of their own have that of the job`,
  )
  return parallelism
}
