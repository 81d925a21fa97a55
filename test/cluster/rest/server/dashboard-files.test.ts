import { describe, expect, it } from 'vitest'
import { shareAccess } from '../../../../src/http/access/control.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { JOB_ID } from '../snapshot.ts'

describe('the files of the dashboard', () => {
  it('need no token, unlike the data', async () => {
    await using app = await fakeApp(fakeCluster([new FakeJob()]), {
      access: shareAccess([], 'secret'),
    })
    // 404 in a checkout whose dashboard is not built.
    expect([200, 404]).toContain((await app.inject({ url: '/' })).statusCode)
    expect((await app.inject({ url: `/weir/jobs/${JOB_ID}/live` })).statusCode).toBe(401)
  })

  it('do not include what is outside their folder', async () => {
    await using app = await fakeApp(fakeCluster([]))
    for (const url of [
      '/assets/../../package.json',
      '/assets/..%2f..%2fpackage.json',
      '/assets/',
    ]) {
      expect((await app.inject({ url })).statusCode).toBe(404)
    }
  })

  it('are served with a strict policy, compressed for clients that take it', async () => {
    await using app = await fakeApp(fakeCluster([]))
    const page = await app.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } })
    if (page.statusCode === 404) {
      expect(page.body).toContain('npm run build:dashboard')
      return
    }
    expect(page.headers).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': 'no-cache',
      'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'"),
    })
    const plain = await app.inject({ url: '/' })
    expect(plain.body).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=/)
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(plain.body)![1]!
    expect((await app.inject({ url: script })).headers['cache-control']).toMatch('immutable')
  })
})
