import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import { readableKey } from '../../core/formats/key-text.ts'
import { readableValue } from '../../core/formats/readable-value.ts'
import { mayOf } from '../../http/principal.ts'
import { MODEL_KIND, type QueryableStateInfo } from '../../wire/routing-table.ts'
import { requireKeyType } from '../../wire/state/formats.ts'
import { boundsOf, readRange } from '../../wire/state/range.ts'
import { namedState } from '../http/objects.ts'
import {
  QUERY_OPTION_SCHEMAS,
  type QueryOptionHeaders,
  queryOptionsOf,
} from '../http/query-options.ts'
import { ENVELOPE_SCHEMA, STATE_SCHEMA } from '../http/schemas.ts'
import type { ServedState } from '../port/services.ts'

/** Most entries of one page of a scan. */
const MAX_PAGE = 1000

const KEY_SCHEMA = { type: 'string', minLength: 1, maxLength: 4096 } as const

const STATE_INFO_SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    kind: { type: 'string', description: '`vector` for rows, else the kind of the typed state.' },
    dimension: { type: 'integer', description: 'Floats of a row; 0 for typed state.' },
    versions: { type: 'array', items: { type: 'integer' } },
    liveVersion: { type: 'integer', description: '0 while no version is live.' },
    keys: {
      type: 'string',
      description:
        'Of a store of windows: `key-and-window` where keys are pairs of a key and the start of a window, `window` where they are starts.',
    },
    keyFormat: {
      type: 'string',
      description: 'Id of the serializer of the keys, where it is known.',
    },
    valueFormat: { type: 'string', description: 'Id of the serializer of the values.' },
    mapKeyFormat: { type: 'string', description: 'Of maps: id of the serializer of their keys.' },
  },
} as const

const PATH_STATE = { type: 'string', minLength: 1, maxLength: STATE_SCHEMA.maxLength } as const

/** The range of a scan. */
const SCAN_QUERY_SCHEMA = {
  type: 'object',
  properties: {
    from: { type: 'string', maxLength: 4096, default: '', description: 'First key.' },
    to: {
      type: 'string',
      maxLength: 4096,
      default: '',
      description: 'Key before which the range ends; empty: no end.',
    },
    prefix: {
      type: 'string',
      maxLength: 4096,
      description:
        'Only keys that start with this: texts with these first characters, or as a JSON array the first elements of tuples, such as ["ann"] for all windows of a key.',
    },
    keys: {
      type: 'string',
      enum: ['text', 'json'],
      description:
        'How `from`, `to` and `prefix` are read: as texts, or as JSON of texts, numbers, booleans and arrays of these. Missing: JSON where the state has windows or numbers as keys, else texts.',
    },
    limit: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 100 },
    version: QUERY_OPTION_SCHEMAS.version,
  },
} as const

const PAGE_SCHEMA = {
  200: {
    description: 'The entries; `next` is the `from` of the next page, if there is one.',
    type: 'object',
    properties: {
      entries: {
        type: 'array',
        items: { type: 'object', properties: { key: KEY_SCHEMA, value: {} } },
      },
      next: { type: 'string' },
    },
  },
} as const

/** Adds the routes that read queryable state: the list of states, one key, a range of keys. */
export function addStateRoutes(app: FastifyInstance, state: ServedState): void {
  addListRoute(app, state)
  addKeyRoute(app, state)
  addScanRoute(app, state)
}

function addListRoute(app: FastifyInstance, state: ServedState): void {
  app.get(
    '/v1/states',
    {
      schema: {
        tags: ['state'],
        summary: 'List the queryable states of the job',
        response: {
          200: {
            description: 'The states.',
            type: 'object',
            properties: {
              job: { type: 'string' },
              states: { type: 'array', items: STATE_INFO_SCHEMA },
            },
          },
        },
      },
    },
    async (request) => ({
      job: state.routing.job,
      states: state.routing.states.filter(({ name, kind }) =>
        mayOf(request, 'read', { kind: kind === MODEL_KIND ? 'model' : 'state', name }),
      ),
    }),
  )
}

function addKeyRoute(app: FastifyInstance, state: ServedState): void {
  app.get<{
    Params: { readonly state: string; readonly key: string }
    Querystring: { readonly version?: number }
    Headers: QueryOptionHeaders
  }>(
    '/v1/states/:state/:key',
    {
      config: { on: namedState },
      schema: {
        tags: ['state'],
        summary: 'Read the row or value of a key',
        params: {
          type: 'object',
          required: ['state', 'key'],
          properties: { state: PATH_STATE, key: KEY_SCHEMA },
        },
        querystring: { type: 'object', properties: { version: QUERY_OPTION_SCHEMAS.version } },
        headers: QUERY_OPTION_SCHEMAS.headers,
        response: {
          200: {
            description: 'The row (an array of numbers) or the value.',
            type: 'object',
            properties: { key: KEY_SCHEMA, value: {}, envelope: ENVELOPE_SCHEMA },
          },
        },
      },
    },
    async ({ params, query, headers }) => {
      const options = queryOptionsOf(headers, query.version)
      const info = infoOf(state, params.state)
      const { kind } = info
      if (kind !== 'vector') requireKeyType(info, params.key)
      const [answer] =
        kind === 'vector'
          ? await state.rows(params.state, [params.key], options)
          : await state.values(params.state, [params.key], options)
      if (!answer!.ok) throw answer!.error
      const { value, envelope } = answer!
      return { key: params.key, value: plainValue(value, info), envelope }
    },
  )
}

function addScanRoute(app: FastifyInstance, state: ServedState): void {
  app.get<{
    Params: { readonly state: string }
    Querystring: {
      readonly from: string
      readonly to: string
      readonly prefix?: string
      readonly keys?: 'text' | 'json'
      readonly limit: number
      readonly version?: number
    }
    Headers: QueryOptionHeaders
  }>(
    '/v1/states/:state',
    {
      config: { on: namedState, document: { problems: [501] } },
      schema: {
        tags: ['state'],
        summary: 'Read a page of entries in the order of their key bytes',
        description: 'The consistency `checkpoint` is refused: a scan reads live rows.',
        params: { type: 'object', required: ['state'], properties: { state: PATH_STATE } },
        querystring: SCAN_QUERY_SCHEMA,
        headers: QUERY_OPTION_SCHEMAS.headers,
        response: PAGE_SCHEMA,
      },
    },
    async ({ params, query, headers }) => {
      const options = queryOptionsOf(headers, query.version)
      const info = infoOf(state, params.state)
      const { limit } = query
      const asked = { ...query, to: query.to === '' ? undefined : query.to }
      const range = boundsOf(params.state, info, readRange(info, asked, 'keys=text or keys=json'))
      const entries = await state.scan(params.state, { ...range, limit: limit + 1 }, options)
      const page = entries.slice(0, limit).map(({ key, value }) => ({
        key: readableKey(key),
        value: plainValue(info.kind === 'vector' ? floatsOf(value) : value, info),
      }))
      const next = entries[limit]?.key
      return next === undefined ? { entries: page } : { entries: page, next }
    },
  )
}

/** Throws UNKNOWN_STATE. */
function infoOf(state: ServedState, name: string): QueryableStateInfo {
  const { states } = state.routing
  const found = states.find((info) => info.name === name)
  if (found !== undefined) return found
  throw new WeirError(
    'UNKNOWN_STATE',
    `no queryable state is named "${name}"; the states are ${states.map((info) => info.name).join(', ') || 'none'}`,
  )
}

function plainValue(value: Float32Array | Uint8Array, info: QueryableStateInfo): unknown {
  return value instanceof Float32Array ? [...value] : readableValue(value, info)
}

/** The floats of a row; its bytes need not be aligned. */
function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer)
}
