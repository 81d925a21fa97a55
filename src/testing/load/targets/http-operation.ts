import type { KeyPair } from '../port/target.ts'

/** A way to ask over HTTP: the gateway's routes, or any URL. */
export type HttpOperation =
  /** `GET /v1/predict/USER/ITEM`, or a `POST` of all pairs of a batch. */
  | {
      readonly kind: 'predict'
      readonly state: string
      readonly version?: number
      readonly batch: number
    }
  /** `GET /recommend/USER`. */
  | { readonly kind: 'top-k'; readonly k: number; readonly version?: number }
  /** `GET /v1/states/STATE/KEY`. */
  | { readonly kind: 'rows'; readonly state: string; readonly version?: number }
  /** `POST /v1/observe` of a batch of ratings. */
  | { readonly kind: 'observe' }
  /** A path and a body in which `{user}`, `{item}` and `{n}`, the number of the request, are replaced. */
  | {
      readonly kind: 'template'
      readonly method: string
      readonly path: string
      readonly body?: string
      readonly contentType: string
    }

/** The requests of an operation. */
export interface RequestFormat {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** Answers are predictions of Weir's gateway. */
  readonly hasPredictions?: true
  parts(keys: readonly KeyPair[]): { readonly path: string; readonly body?: string }
}

const AS_JSON = { 'content-type': 'application/json' }

/** The requests of an operation. */
export function formatOf(operation: HttpOperation): RequestFormat {
  switch (operation.kind) {
    case 'predict':
      return operation.batch === 1 ? predictOne(operation) : predictBatch(operation)
    case 'top-k': {
      const query = queryOf({ howMany: operation.k, version: operation.version })
      return get(({ user }) => `/recommend/${encodeURIComponent(user)}${query}`, {
        accept: 'application/json',
      })
    }
    case 'rows': {
      const begin = `/v1/states/${encodeURIComponent(operation.state)}/`
      const query = queryOf({ version: operation.version })
      return get(({ user }) => `${begin}${encodeURIComponent(user)}${query}`)
    }
    case 'observe':
      return observe()
    case 'template':
      return filledIn(operation)
  }
}

function get(
  pathOf: (pair: KeyPair) => string,
  headers: Readonly<Record<string, string>> = {},
): RequestFormat {
  return { method: 'GET', headers, parts: (keys) => ({ path: pathOf(keys[0]!) }) }
}

function predictOne({ state, version }: { state: string; version?: number }): RequestFormat {
  const query = queryOf({ state: state === 'ALS_MODEL' ? undefined : state, version })
  const format = get(
    ({ user, item }) =>
      `/v1/predict/${encodeURIComponent(user)}/${encodeURIComponent(item)}${query}`,
  )
  return { ...format, hasPredictions: true }
}

function predictBatch({ state, version }: { state: string; version?: number }): RequestFormat {
  return {
    method: 'POST',
    headers: AS_JSON,
    hasPredictions: true,
    parts: (keys) => {
      const pairs = keys.map(({ user, item }) => [user, item])
      return { path: '/v1/predict', body: JSON.stringify({ state, version, pairs }) }
    },
  }
}

function observe(): RequestFormat {
  let observed = 0
  return {
    method: 'POST',
    headers: AS_JSON,
    parts: (keys) => {
      const ratings = keys.map(({ user, item }) => ({ user, item, rating: 1 + (observed++ % 5) }))
      return { path: '/v1/observe', body: JSON.stringify(ratings) }
    },
  }
}

/** Ids are escaped for a URL in the path, and for a JSON string in the body. */
function filledIn({
  method,
  path,
  body,
  contentType,
}: Extract<HttpOperation, { kind: 'template' }>): RequestFormat {
  let n = 0
  const fill = (template: string, pair: KeyPair, escaped: (id: string) => string): string =>
    template.replaceAll(/\{(user|item|n)\}/g, (_, name: 'user' | 'item' | 'n') =>
      name === 'n' ? String(n) : escaped(pair[name]),
    )
  return {
    method,
    headers: body === undefined ? {} : { 'content-type': contentType },
    parts: (keys) => {
      n += 1
      const [pair] = keys
      const filled = { path: fill(path, pair!, encodeURIComponent) }
      if (body === undefined) return filled
      return { ...filled, body: fill(body, pair!, (id) => JSON.stringify(id).slice(1, -1)) }
    },
  }
}

function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return text.length === 0 ? '' : `?${text.join('&')}`
}
