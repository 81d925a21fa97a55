import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../cluster/rest/fake-cluster.ts'
import { GatewayWorld } from '../gateway/world.ts'
import { everyOperation, type Sample } from './every-operation.ts'

const PORTS = ['gateway', 'REST'] as const
let apps: Readonly<Record<(typeof PORTS)[number], FastifyInstance>>
const job = new FakeJob()

beforeAll(async () => {
  apps = { gateway: await new GatewayWorld().open(), REST: await fakeApp(fakeCluster([job])) }
})
afterAll(async () => {
  for (const app of Object.values(apps)) await app.close()
})

const PLACES = { jobid: job.id, vertexid: '0'.repeat(32), triggerid: '0'.repeat(32) }

/** A path as messages have it. */
const shown = (url: string): string => url.slice(0, 60)

/** The name with its middle letter twice. */
const misspelt = (name: string): string => {
  const middle = name.length >> 1
  return name.slice(0, middle) + name[middle]! + name.slice(middle)
}

describe.each(PORTS)('the port of the %s', (port) => {
  const samples = (): Promise<readonly Sample[]> => everyOperation(apps[port], PLACES)
  const answerOf = async (sample: Sample, query: string, headers = {}): Promise<string> => {
    const { method, url } = sample
    const { statusCode, body } = await apps[port].inject({ method, url: `${url}${query}`, headers })
    return `${statusCode} ${body.replaceAll('\\"', '"')}`
  }

  it('refuses a query parameter that a route does not take, with the nearest one', async () => {
    for (const sample of await samples()) {
      const { method, url, query } = sample
      for (const name of query) {
        const wrong = misspelt(name)
        const answer = await answerOf(sample, `?${wrong}=1`)
        expect(answer).toMatch(/^400 /)
        expect(answer).toContain(
          `${method} ${shown(url)} takes no query parameter "${wrong}"; did you mean "${name}"?`,
        )
      }
      const answer = await answerOf(sample, '?zzzzzzzzzz=1')
      expect(answer).toContain('takes no query parameter "zzzzzzzzzz"; it takes ')
      for (const name of query) expect(answer).toContain(name)
    }
  })

  it('takes every query parameter that its document names', async () => {
    for (const sample of await samples()) {
      for (const name of sample.query) {
        expect(await answerOf(sample, `?${name}=1`)).not.toContain('takes no query parameter')
      }
    }
  })

  it('refuses a header field of Weir that a route does not obey', async () => {
    let taken = 0
    for (const sample of await samples()) {
      const { method, url, headers } = sample
      const place = `${method} ${shown(url)} takes no header field`
      expect(await answerOf(sample, '', { 'weir-consistancy': 'live' })).toContain(
        headers.includes('weir-consistency')
          ? `${place} "weir-consistancy"; did you mean "weir-consistency"?`
          : `${place} "weir-consistancy"; `,
      )
      const answer = await answerOf(sample, '', { 'weir-consistency': 'live' })
      if (headers.includes('weir-consistency')) taken++
      if (headers.includes('weir-consistency')) expect(answer).not.toContain(place)
      else expect(answer).toContain(`${place} "weir-consistency"`)
    }
    expect(taken > 0).toBe(port === 'gateway')
  })

  it('says nothing of a path that does not exist, and of the fields of others', async () => {
    const { statusCode } = await apps[port].inject('/nothing?versionn=1')
    expect(statusCode).toBe(404)
    const headers = { 'x-request-id': '1', traceparent: 'none', 'weird-field': '1' }
    const url = port === 'gateway' ? '/v1/health/live' : '/overview'
    expect((await apps[port].inject({ url, headers })).statusCode).toBe(200)
  })
})
