import type { FastifyRequest } from 'fastify'
import { type AccessObject, modelObject } from '../../http/access/object-rights.ts'
import { DEFAULT_STATE } from './schemas.ts'

/** The objects of a request that its path and its query name. */
export type ObjectsOf = (request: FastifyRequest) => AccessObject | readonly AccessObject[]

/** States, as the objects of a route. */
export function statesOf(...names: readonly string[]): ObjectsOf {
  const objects = names.map((name) => ({ kind: 'state', name }) as const)
  return () => objects
}

/** The state that the parameter `state` of the path or of the query names. */
export function namedState({ params, query }: FastifyRequest): readonly AccessObject[] {
  const { state } = params as { readonly state?: string }
  const { state: asked } = query as { readonly state?: string | readonly string[] }
  const names = [state ?? asked ?? DEFAULT_STATE].flat()
  return names.map((name) => ({ kind: 'state', name }))
}

/** The model that the parameter `model` of the path names, or `name` of the query. */
export function namedModel({ params, query }: FastifyRequest): AccessObject {
  const { model } = params as { readonly model?: string }
  const { name } = query as { readonly name?: string }
  return modelObject(String(model ?? name ?? ''))
}
