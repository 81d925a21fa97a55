import { WeirClient } from '../../../client/weir-client.ts'
import { systemClock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { type AlsRowKind, idOfKey, isRowOf } from '../../../models/als/row-key.ts'
import { HttpConnections } from '../http/connections.ts'
import { requestWriter } from '../http/request.ts'
import type { KeyPair } from '../port/target.ts'
import { type HttpTargetSettings, hostHeaderOf } from './http.ts'
import { failureOf } from './http-failure.ts'
import type { TargetSettings } from './open-target.ts'

/** Keys that are read from the server when the user names none. */
const SAMPLE = 1000
const LAST_KEY = '\u{10ffff}'

/** The first keys of a served state, in the order of their bytes. Rejects with the error of the server. */
export async function servedKeys(settings: TargetSettings, state: string): Promise<string[]> {
  const keys =
    settings.protocol === 'weir'
      ? await keysOfJob(settings, state)
      : await keysOfGateway(settings, state)
  if (keys.length > 0) return keys
  throw new WeirError(
    'EMPTY_DATASET',
    `the state ${state} has no rows to ask for; load a model first, or name --users and --items`,
  )
}

async function keysOfJob(
  { connection, query }: Extract<TargetSettings, { protocol: 'weir' }>,
  state: string,
): Promise<string[]> {
  await using client = await WeirClient.connect({ ...connection, client: 'weir-load' })
  const range = { from: '', to: LAST_KEY, limit: SAMPLE }
  return (await client.scan(state, range, query)).map(({ key }) => key)
}

async function keysOfGateway(settings: HttpTargetSettings, state: string): Promise<string[]> {
  const { host, port, tls, basePath, headers, timeoutMs } = settings
  const address = tls === undefined ? { host, port } : { host, port, tls }
  const options = { address, maxConnections: 1, timeoutMs, clock: systemClock }
  using connections = new HttpConnections(options)
  const write = requestWriter({ method: 'GET', host: hostHeaderOf(settings), headers })
  const path = `${basePath}/v1/states/${encodeURIComponent(state)}?limit=${SAMPLE}`
  const { status, body } = await connections.ask(write(path))
  const failure = failureOf(status, body)
  if (failure !== undefined) throw failure
  const { entries } = JSON.parse(body.toString('utf8')) as { entries: { key: string }[] }
  return entries.map(({ key }) => key)
}

/** Pairs of the users and the items among the keys of an ALS model. Throws EMPTY_DATASET. */
export function pairsOf(keys: readonly string[]): readonly KeyPair[] {
  const ids = (kind: AlsRowKind): string[] =>
    keys.filter((key) => isRowOf(key, kind)).map((key) => idOfKey(key))
  const [users, items] = [ids('U'), ids('I')]
  if (users.length === 0 || items.length === 0) {
    throw new WeirError(
      'EMPTY_DATASET',
      `the first ${keys.length} keys of the state are not of users and items; name --users and --items, or --input-data`,
    )
  }
  // Users and items begin with the same ids: the step mixes them.
  return Array.from({ length: Math.max(users.length, items.length) }, (_, i) => ({
    user: users[i % users.length]!,
    item: items[(i * 7919) % items.length]!,
  }))
}
