import { get, type IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { shareAccess } from '../../../../src/http/access/control.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { tokenOf } from '../../../http/access/tokens.ts'
import { until } from '../../../run/until.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { JOB_ID } from '../snapshot.ts'

const TWO = `/weir/events?path=/overview&path=${encodeURIComponent(`/weir/jobs/${JOB_ID}/live`)}`

/** Opens a path and resolves with the response when its head has come. */
function open(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, resolve).on('error', reject)
  })
}

/** Reads a response until the text is in it. */
async function readUntil(response: IncomingMessage, text: string): Promise<string> {
  let seen = ''
  response.setEncoding('utf8')
  for await (const part of response.iterator({ destroyOnReturn: false })) {
    seen += part
    if (seen.includes(text)) return seen
  }
  throw new Error(`the stream ended after: ${seen}`)
}

it('streams the answers to several paths, without repetition after a reconnection', async () => {
  await using app = await fakeApp(fakeCluster([new FakeJob()]))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const first = await open(`${url}${TWO}`)
  expect(first.headers['content-type']).toContain('text/event-stream')
  const text = await readUntil(first, '-2\n')
  const [, id, path] = /id: (\S+-1)\nevent: answer\ndata: {"path":"([^"]+)"/.exec(text)!
  const again = await open(`${url}${TWO}`, { 'last-event-id': id! })
  expect(await readUntil(again, '-2\n')).not.toContain(`"${path}"`)
  for (const response of [first, again]) response.destroy()
})

it('ends the stream of a token that is no longer accepted', async () => {
  const clock = new ManualClock()
  await using app = await fakeApp(fakeCluster([]), { access: shareAccess([], 'secret'), clock })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  expect((await open(`${url}/weir/events?path=/overview`)).statusCode).toBe(401)
  const headers = { authorization: 'Bearer secret' }
  const stream = await open(`${url}/weir/events?path=/overview`, headers)
  await readUntil(stream, '"/overview"')
  const beat = readUntil(stream, ':\n\n')
  clock.advance(15_000)
  await beat
})

it('refuses paths that cannot be watched, and more streams than it serves', async () => {
  await using app = await fakeApp(fakeCluster([]))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  expect((await open(`${url}/weir/events?path=/jars`)).statusCode).toBe(400)
  expect((await open(`${url}/weir/events`)).statusCode).toBe(400)
  const streams = await Promise.all(
    Array.from({ length: 32 }, () => open(`${url}/weir/events?path=/overview`)),
  )
  const refused = await open(`${url}/weir/events?path=/overview`)
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '10'])
  for (const response of streams) response.destroy()
  const isServed = async () => {
    const again = await open(`${url}/weir/events?path=/overview`)
    again.destroy()
    return again.statusCode === 200
  }
  await until('the share is given back', isServed)
})

it('gives each token a share of the streams, so that one that takes many leaves some to the others', async () => {
  const [greedy, good] = [tokenOf(1), tokenOf(2)]
  const access = shareAccess([greedy.record, good.record])
  await using app = await fakeApp(fakeCluster([]), { access })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const stream = (token: { readonly text: string }) =>
    open(`${url}/weir/events?path=/overview`, { authorization: `Bearer ${token.text}` })
  const opened = await Promise.all(Array.from({ length: 40 }, () => stream(greedy)))
  const served = opened.filter(({ statusCode }) => statusCode === 200)
  expect(served).toHaveLength(32)
  const other = await stream(good)
  expect(other.statusCode).toBe(200)
  for (const response of [...opened, other]) response.destroy()
})
