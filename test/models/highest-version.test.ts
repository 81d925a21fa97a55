import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { checkArgument, checkOptions } from '../../src/core/options/shape.ts'
import { versionNumber } from '../../src/gateway/inference/repository.ts'
import { AccessControl, OPEN_ACCESS } from '../../src/http/access/control.ts'
import { versionOf } from '../../src/inference/repository/name.ts'
import { chosenVersion } from '../../src/models/publish/version-to-publish.ts'
import { REGISTRY_COMMAND } from '../../src/models/registry/command-shape.ts'
import { decodeMarker, encodeMarker } from '../../src/models/registry/version-marker.ts'
import { readableVersion } from '../../src/models/versioned-key.ts'
import type { PublishedVersions } from '../../src/models/versions/model-versions.ts'
import { QUERY } from '../../src/wire/model-reader.ts'
import { GatewayWorld } from '../gateway/world.ts'

/** Tables and the progress board of a job hold a version as a signed integer of 32 bits. */
const HIGHEST = 2_147_483_647

const markerOf = (version: number) => ({
  ...({ event: 'ready', version, name: 'ALS_MODEL', dimension: 4, biased: false } as const),
  ...{ users: 1, items: 1, globalMean: 0, hyperparameters: {}, metrics: {} },
})

/** By who it is, what takes a version or throws. */
const DOORS: Readonly<Record<string, (version: number) => unknown>> = {
  'the writer of markers': (version) => encodeMarker(markerOf(version)),
  'the reader of markers': (version) =>
    decodeMarker(new TextEncoder().encode(JSON.stringify(markerOf(version)))),
  'the reader of rows': readableVersion,
  'a command of the registry': (version) => {
    const command = { kind: 'retire', name: 'm', number: version, atMs: 1 } as const
    checkArgument('execute', 'command', REGISTRY_COMMAND, command)
  },
  'a query': (version) => checkOptions('predict', QUERY, { version }),
  'a path of the gateway': (version) => versionNumber(String(version)),
  'a folder of the model repository': (version) => {
    if (versionOf(String(version)) === undefined) throw new Error('no version')
  },
}

describe('the highest version is one number', () => {
  it.each(Object.entries(DOORS))('for %s', (_, take) => {
    expect(() => take(HIGHEST)).not.toThrow()
    expect(() => take(HIGHEST + 1)).toThrow()
  })

  it('for a publisher, also where it takes the number after the highest one', () => {
    const published = (highest: number) =>
      ({ all: [], highest, isComplete: () => false }) as unknown as PublishedVersions
    expect(chosenVersion(published(0), { version: HIGHEST }, 'm')).toBe(HIGHEST)
    expect(chosenVersion(published(HIGHEST - 1), {}, 'm')).toBe(HIGHEST)
    expect(() => chosenVersion(published(0), { version: HIGHEST + 1 }, 'm')).toThrow()
    expect(() => chosenVersion(published(HIGHEST), {}, 'm')).toThrow()
  })

  it('for each flag and position of a command', () => {
    const reference = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')
    const bounds = [...reference.matchAll(/^ +--version N .*from 1 to (\d+)/gm)].map(([, to]) => to)
    expect(bounds.length).toBeGreaterThan(10)
    expect(new Set(bounds)).toEqual(new Set([String(HIGHEST)]))
  })

  it('for each parameter and field of a route', async () => {
    const access = new AccessControl(OPEN_ACCESS, systemClock)
    const app = await new GatewayWorld().open({}, { access })
    const found = boundsIn((await app.inject('/openapi.json')).json())
    expect(found.length).toBeGreaterThan(5)
    expect(new Set(found)).toEqual(new Set([HIGHEST]))
  })
})

/** Upper bounds of everything in a document that is named as a version. */
function boundsIn(part: unknown): readonly unknown[] {
  if (typeof part !== 'object' || part === null) return []
  const { name, schema } = part as { name?: unknown; schema?: { type: string; maximum?: unknown } }
  const own = NAMES.has(String(name)) && schema?.type === 'integer' ? [schema.maximum] : []
  const fields = Object.entries(part).flatMap(([key, value]) =>
    NAMES.has(key) && 'maximum' in Object(value)
      ? [(value as { maximum: unknown }).maximum]
      : boundsIn(value),
  )
  return [...own, ...fields]
}

const NAMES: ReadonlySet<string> = new Set(['version', 'expectLive'])
