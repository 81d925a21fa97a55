import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'

const AS_JSON = { 'content-type': 'application/json' }

/** Bodies that cost much, that are no text, or that no one means. */
const BODIES: Readonly<Record<string, Buffer>> = {
  'brackets alone': Buffer.from('['.repeat(60_000)),
  'deep lists': Buffer.from(`{"job":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
  'deep objects': Buffer.from(`${'{"job":'.repeat(8000)}1${'}'.repeat(8000)}`),
  'more than it takes': Buffer.from(`{"job":"${'x'.repeat(70_000)}"}`),
  'text of another encoding': Buffer.from('{"job":"M\xfcller"}', 'latin1'),
  'a prototype': Buffer.from('{"__proto__":{"job":"x"}}'),
}

describe('every route of the REST interface that takes a body', () => {
  it.each(Object.keys(BODIES))('refuses it and blames the client: %s', async (name) => {
    await using app = await fakeApp(fakeCluster([new FakeJob()]))
    const document = (await app.inject({ url: '/openapi.json' })).json<{
      paths: Record<string, Record<string, object>>
    }>()
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        'requestBody' in operation ? [[method, path.replaceAll(/\{\w+\}/g, '1')] as const] : [],
      ),
    )
    expect(routes.length).toBeGreaterThan(5)
    for (const [method, url] of routes) {
      const answer = await app.inject({
        method: method.toUpperCase() as 'POST',
        url,
        payload: BODIES[name]!,
        headers: AS_JSON,
      })
      const where = `${method} ${url}: ${answer.statusCode} ${answer.body.slice(0, 200)}`
      expect([400, 413], where).toContain(answer.statusCode)
      expect(answer.body, where).not.toContain('call stack')
    }
  })

  it('reads no compressed body, so that none can become a large one', async () => {
    await using app = await fakeApp(fakeCluster([new FakeJob()]))
    const payload = gzipSync(JSON.stringify({ job: 'als-serving' }))
    const headers = { ...AS_JSON, 'content-encoding': 'gzip' }
    const answer = await app.inject({ method: 'POST', url: '/jobs', payload, headers })
    expect(answer.statusCode).toBe(400)
  })
})
