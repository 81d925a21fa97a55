import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { AccessControl, OPEN_ACCESS } from '../../../src/http/access/control.ts'
import { GatewayWorld } from '../world.ts'

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly required: boolean }
  readonly responses: Readonly<
    Record<string, { readonly headers?: object; readonly content?: object }>
  >
  readonly security?: readonly object[]
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const access = new AccessControl(OPEN_ACCESS, systemClock)
const app = await new GatewayWorld().open({}, { access })
const { paths, components } = (await app.inject('/openapi.json')).json<Document>()

describe('the OpenAPI document', () => {
  it('names every parameter of every path, and has no wildcard', async () => {
    expect(Object.keys(paths)).toContain('/recommendWithContext/{user}/{item}')
    for (const [path, operations] of Object.entries(paths)) {
      expect(path).not.toContain('*')
      const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
      for (const { parameters = [] } of Object.values(operations)) {
        const given = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
        expect(given, path).toEqual(names)
      }
    }
  })

  it('has the one schema of a problem for each error, with the fields of its status', async () => {
    expect(Object.keys(components.schemas)).toContain('Problem')
    const { responses, security } = paths['/recommend/{user}']!['get']!
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '406',
      '408',
      '414',
      '429',
      '431',
      '500',
      '501',
      '503',
      '504',
    ])
    expect(security).toBeUndefined()
    const content = {
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    }
    expect(responses['503']).toMatchObject({ content, headers: { 'Retry-After': {} } })
    expect(responses['401']).toMatchObject({ content, headers: { 'WWW-Authenticate': {} } })
  })

  it('names each operation once, for clients that are generated', () => {
    const names = Object.values(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    )
    expect(names).toContain('getV1PredictUserItem')
    expect(new Set(names).size).toBe(names.length)
  })

  it('says which routes need no token, and which bodies may be left out', async () => {
    const probe = paths['/v1/health/live']!['get']!
    expect(probe.security).toEqual([])
    expect(probe.responses['401']).toBeUndefined()
    expect(paths['/pref/{user}/{item}']!['post']!.requestBody!.required).toBe(false)
    expect(paths['/v1/predict']!['post']!.requestBody!.required).toBe(true)
    expect(JSON.stringify(paths)).not.toContain('x-optional-body')
  })
})
