import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../cluster/rest/fake-cluster.ts'
import { GatewayWorld } from '../gateway/world.ts'
import { everyBody, validOf, type WrongBody, wrongBodies } from './every-body.ts'

const PORTS = ['gateway', 'REST'] as const
let apps: Readonly<Record<(typeof PORTS)[number], FastifyInstance>>
const job = new FakeJob()
/**
 * Routes whose fields are those of the model that is asked: test/system/inference/states/text-model.test.ts and
 * test/system/inference/parts/streams.test.ts.
 */
const OF_THE_MODEL =
  /^\/v2\/models\/ALS_MODEL(?:\/versions\/1)?\/(?:json|generate|generate_stream)$/
const PLACES = { jobid: job.id, model: 'ALS_MODEL', version: '1' }
/** Models of a topic are not loaded, but the body of the request is read first. */
const modelControl = { registry: undefined } as never

beforeAll(async () => {
  const models = { model: 'ALS_MODEL', change: async () => ({}) } as never
  apps = {
    gateway: await new GatewayWorld().open({ modelControl, models }),
    REST: await fakeApp(fakeCluster([job])),
  }
})
afterAll(async () => {
  for (const app of Object.values(apps)) await app.close()
})

describe.each(PORTS)('the port of the %s', (port) => {
  const answerOf = async (
    { method, url }: { readonly method: 'POST' | 'PUT'; readonly url: string },
    body: unknown,
  ): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const payload = JSON.stringify(body)
    const answer = await apps[port].inject({ method, url, headers, payload })
    return `${answer.statusCode} ${answer.body.replaceAll('\\"', '"')}`
  }

  it('refuses a body with a field too many, one that is missing or one of a wrong type, by its name', async () => {
    const routes = await everyBody(apps[port], PLACES)
    expect(routes.length).toBeGreaterThan(port === 'gateway' ? 9 : 6)
    for (const route of routes.filter(({ url }) => !OF_THE_MODEL.test(url))) {
      const wrong: readonly WrongBody[] = wrongBodies(route.schema)
      expect(wrong.length, route.url).toBeGreaterThan(2)
      for (const { mistake, body, named } of wrong) {
        const answer = await answerOf(route, body)
        const place = `${route.method} ${route.url}: ${mistake}: ${JSON.stringify(body)}`
        expect(answer, place).toMatch(/^400 /)
        for (const name of named) expect(answer, place).toContain(name)
      }
    }
  })

  it('takes a body of the same fields without a mistake, or refuses it for another reason', async () => {
    for (const route of await everyBody(apps[port], PLACES)) {
      const answer = await answerOf(route, validOf(route.schema))
      expect(answer, route.url).not.toContain('has no field')
      expect(answer, route.url).not.toContain('required property')
    }
  })
})
