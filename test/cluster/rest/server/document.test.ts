import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operationCount } from '../../../../src/cluster/rest/openapi/document.ts'
import { shareAccess } from '../../../../src/http/access/control.ts'
import { DocumentedAnswers, type RestDocument } from '../documented-answers.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'

let app: FastifyInstance
let document: RestDocument
beforeAll(async () => {
  app = await fakeApp(fakeCluster([new FakeJob()]))
  document = (await DocumentedAnswers.of(app)).document
})
afterAll(() => app.close())

describe('the OpenAPI document of the REST interface', () => {
  it('has every operation, what it is for, and its group', () => {
    const { openapi, info, paths } = document
    expect([openapi, info.version]).toEqual(['3.1.0', '1.2.3'])
    const operations = Object.values(paths).flatMap((path) => Object.values(path))
    expect(operations.length).toBe(operationCount())
    for (const { summary, tags } of operations) expect([summary, tags]).not.toContain(undefined)
  })

  it('says which bodies may be left out', () => {
    const bodies = Object.entries(document.paths).flatMap(([path, { post }]) =>
      post?.requestBody === undefined ? [] : [[path, post.requestBody.required === true]],
    )
    expect(Object.fromEntries(bodies)).toMatchObject({
      '/jobs': true,
      '/jobs/{jobid}/savepoints': false,
      '/weir/jobs/{jobid}/models/rollback': false,
    })
  })

  it('names tokens only where they are needed, and is not given without one', async () => {
    expect(document.security).toBeUndefined()
    expect(document.paths['/overview']!['get']!.responses).not.toHaveProperty('401')
    const access = shareAccess([], 'secret')
    await using secured = await fakeApp(fakeCluster([]), { access })
    expect((await secured.inject('/openapi.json')).statusCode).toBe(401)
    const headers = { authorization: 'Bearer secret' }
    const answer = await secured.inject({ url: '/openapi.json', headers })
    const { security, paths } = answer.json<RestDocument>()
    expect(security).toEqual([{ token: [] }])
    expect(paths['/overview']!['get']!.responses).toHaveProperty('401')
  })
})

it('the page to try the routes needs no token, and all its files are on this port', async () => {
  await using secured = await fakeApp(fakeCluster([]), { access: shareAccess([], 'secret') })
  const page = await secured.inject('/docs')
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!)
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) {
    expect(file).not.toMatch(/^(https?:)?\/\//)
    const { pathname } = new URL(file, 'http://localhost/docs')
    expect((await secured.inject(pathname)).statusCode, pathname).toBe(200)
  }
})
