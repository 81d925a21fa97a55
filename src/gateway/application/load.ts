import { pathToFileURL } from 'node:url'
import { asWeirError, WeirError } from '../../core/errors.ts'
import type { ApplicationRoute } from '../port/application.ts'

const EXPORT =
  "end it with \"export default [{ path: '/app/...', states: [...], summary: '...', respond: ... }]\""
const PART = /^(?::[A-Za-z]\w*|[\w.~-]+)$/

/** The paths that a module exports as its default. Rejects with INVALID_ARGUMENT. */
export async function loadRoutes(file: string): Promise<readonly ApplicationRoute[]> {
  let exported: { readonly default?: unknown }
  try {
    exported = await import(pathToFileURL(file).href)
  } catch (error) {
    throw asWeirError(error, 'INVALID_ARGUMENT', `the routes ${file} cannot be loaded`)
  }
  return checkedRoutes(exported.default, file)
}

/** The paths, checked. Throws INVALID_ARGUMENT with the path and what is wrong. */
export function checkedRoutes(given: unknown, file: string): readonly ApplicationRoute[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw new WeirError('INVALID_ARGUMENT', `${file} has no routes: ${EXPORT}`)
  }
  const shapes = new Set<string>()
  for (const [at, route] of given.entries()) {
    const { path } = (route ?? {}) as Partial<ApplicationRoute>
    const name = typeof path === 'string' ? path : `number ${at + 1}`
    const problem = problemOf((route ?? {}) as Partial<ApplicationRoute>)
    if (problem !== undefined) {
      throw new WeirError('INVALID_ARGUMENT', `the route ${name} of ${file} ${problem}`)
    }
    const shape = name.replaceAll(/:\w+/g, ':')
    if (shapes.has(shape)) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the route ${name} of ${file} is there twice, or differs from another one by names of parts only: give it another path`,
      )
    }
    shapes.add(shape)
  }
  return given as readonly ApplicationRoute[]
}

function problemOf(route: Partial<ApplicationRoute>): string | undefined {
  const { path, states, summary, query = {}, answer = {}, respond } = route
  if (typeof path !== 'string' || !path.startsWith('/app/')) return 'needs a path below /app/'
  const parts = path.slice('/app/'.length).split('/')
  if (!parts.every((part) => PART.test(part))) {
    return 'has a part that is neither a name such as :user nor made of letters, digits, ".", "_", "~" and "-"'
  }
  const names = parts.filter((part) => part.startsWith(':'))
  if (new Set(names).size < names.length) return 'has two parts with the same name'
  const hasStates =
    Array.isArray(states) &&
    states.length > 0 &&
    states.every((name) => typeof name === 'string' && name !== '')
  if (!hasStates) return 'needs the names of the states that it reads, in "states"'
  if (typeof summary !== 'string' || summary === '') return 'needs a text in "summary"'
  if (!isObject(query) || !Object.values(query).every(isObject)) {
    return 'needs JSON schemas by name in "query", such as { limit: { type: \'integer\' } }'
  }
  if (!isObject(answer)) return 'needs a JSON schema in "answer"'
  if (typeof respond !== 'function') return 'needs a function in "respond"'
  return undefined
}

function isObject(given: unknown): boolean {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}
