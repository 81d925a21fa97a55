import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandProcess, jsonLines, weir } from '../cli/command-process.ts'

let folder: string
let job: CommandProcess
let jobPort: string
const at = (name: string): string => join(folder, name)

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await inProcess(args)
  expect(code, stderr).toBe(0)
  return stdout
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-gateway-'))
  const ratings = ['generate', 'ratings', '--users', '30', '--items', '20', '--ratings', '600']
  await run(...ratings, '--output', at('ratings.data'))
  const train = ['train', 'als', '--ratings', at('ratings.data'), '--factors', '4']
  await run(...train, '--iterations', '2', '--threads', '0', '--data-dir', at('data'))
  await run('topic', 'create', 'observations', '--partitions', '2', '--data-dir', at('data'))
  const serve = ['learn', 'als', '--data-dir', at('data'), '--port', '0', '--json']
  job = weir([...serve, '-D', 'rest.enabled=false'])
  jobPort = (await job.printed(/"started","port":(\d+)/))[1]!
  await job.printed(/"event":"learning"/)
})

afterAll(async () => {
  await job?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const gateway = (...flags: string[]): CommandProcess =>
  weir([
    ...['gateway', '--port', jobPort, '--json', '--data-dir', at('data'), ...flags],
    ...(flags.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']),
    ...(flags.includes('--observations') ? [] : ['--observations', 'observations']),
  ])

async function urlOf(process: CommandProcess): Promise<string> {
  return (await process.printed(/"url":"([^"]+)"/))[1]!
}

const asJson = { 'content-type': 'application/json' }

describe('weir gateway', () => {
  it('serves a running job from two threads on one port, and a session reads what it wrote', async () => {
    await using process = gateway('--threads', '2')
    const url = await urlOf(process)
    const ask = async (path: string) => (await fetch(`${url}${path}`)).json()
    const before = await ask('/v1/states/ALS_MODEL/1-U')
    const body = JSON.stringify(
      Array.from({ length: 20 }, (_, n) => ({ user: '1', item: String(1 + n), rating: 5 })),
    )
    const observed = await fetch(`${url}/v1/observe`, { method: 'POST', body, headers: asJson })
    const { accepted, positions } = (await observed.json()) as {
      accepted: number
      positions: { partition: number; offset: number }[]
    }
    expect([accepted, positions.length]).toEqual([20, 1])
    const { partition, offset } = positions[0]!
    const consistency = observed.headers.get('weir-consistency')!
    expect(consistency).toMatch(new RegExp(`^at-least:[0-9]+:${partition}:${offset}$`))
    // Both reads wait for the ratings, whichever thread of the gateway answers.
    const sessions = { 'weir-session': observed.headers.get('weir-session')! }
    for (const headers of [sessions, { 'weir-consistency': consistency }]) {
      const read = await fetch(`${url}/v1/states/ALS_MODEL/1-U`, {
        headers: { ...headers, 'weir-deadline-ms': '60000' },
      })
      expect(read.status).toBe(200)
      const { value } = (await read.json()) as { value: unknown }
      expect(value).not.toEqual((before as { value: unknown }).value)
    }
    const many = await Promise.all(Array.from({ length: 200 }, () => ask('/v1/predict/1/2')))
    expect(new Set(many.map((one) => (one as { userCold: boolean }).userCold))).toEqual(
      new Set([false]),
    )
    process.signal('SIGTERM')
    expect(await process.ended).toMatchObject({ code: 0 })
  })

  it('serves beside another one of the same folder on another port, and is refused on the same port', async () => {
    await using first = gateway()
    await using second = gateway()
    const urls = [await urlOf(first), await urlOf(second)]
    expect(new Set(urls).size).toBe(2)
    const offsets = new Set<number>()
    for (let i = 0; i < 6; i++) {
      const body = JSON.stringify({ user: '7', item: String(1 + i), rating: 4 })
      const payload = { method: 'POST', body, headers: asJson }
      const observed = await fetch(`${urls[i % 2]}/v1/observe`, payload)
      const { accepted, positions } = (await observed.json()) as {
        accepted: number
        positions: { offset: number }[]
      }
      expect(accepted).toBe(1)
      offsets.add(positions[0]!.offset)
    }
    // Both append to one topic: no record is lost or stored twice.
    expect(offsets.size).toBe(6)
    const { host } = new URL(urls[0]!)
    const same = await gateway('--listen', host).ended
    expect(same.code).toBe(1)
    expect(same.stderr).toContain(`the gateway cannot listen on ${host}`)
    expect([first.hasEnded, second.hasEnded]).toEqual([false, false])
    for (const url of urls) expect((await fetch(`${url}/v1/predict/1/2`)).status).toBe(200)
  })

  it('takes requests with tokens of a file, and refuses a revoked one soon', async () => {
    const create = ['token', 'create', '--role', 'read', '--file', at('tokens.json')]
    const [kept, revoked] = [(await run(...create)).trim(), (await run(...create)).trim()]
    await using process = gateway('--tokens', at('tokens.json'))
    const url = await urlOf(process)
    const statusWith = async (token: string, path = '/v1/predict/1/2') =>
      (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).status
    expect((await fetch(`${url}/v1/predict/1/2`)).status).toBe(401)
    expect(await statusWith(kept)).toBe(200)
    expect(await statusWith(revoked)).toBe(200)
    const id = /^weir_([0-9a-f]{12})_/.exec(revoked)![1]!
    await run('token', 'revoke', id, '--file', at('tokens.json'))
    await expect.poll(async () => await statusWith(revoked)).toBe(401)
    expect(await statusWith(kept)).toBe(200)
    process.signal('SIGTERM')
    await process.ended
  })

  it('lists the versions of a model, promotes one and rolls back', async () => {
    await using process = gateway('--model', 'als-model')
    const url = await urlOf(process)
    const list = async () => (await fetch(`${url}/v1/models/versions`)).json()
    expect(await list()).toMatchObject({ live: 1, versions: [{ number: 1, state: 'live' }] })
    const train = ['train', 'als', '--ratings', at('ratings.data'), '--factors', '4']
    await run(...train, '--iterations', '1', '--threads', '0', '--data-dir', at('data'))
    expect(await list()).toMatchObject({ live: 1, versions: [{ number: 2 }, { number: 1 }] })
    const post = async (path: string, body: object) => {
      const payload = { method: 'POST', headers: asJson, body: JSON.stringify(body) }
      const answer = await fetch(`${url}/v1/models/${path}`, payload)
      return [answer.status, await answer.json()]
    }
    const problem = { code: 'PROMOTION_REFUSED' }
    expect(await post('versions/2/promote', {})).toEqual([409, expect.objectContaining(problem)])
    const forced = { model: 'als-model', live: 2, before: 1, how: 'forced' }
    expect(await post('versions/latest/promote', { force: 'a test' })).toEqual([200, forced])
    const back = { model: 'als-model', live: 1, before: 2, how: 'rolled back' }
    expect(await post('rollback', { expectLive: 2 })).toEqual([200, back])
    process.signal('SIGTERM')
    await process.ended
  })

  it('says what is missing before it opens a port that other machines reach', async () => {
    const { code, stderr } = await gateway('--listen', '0.0.0.0:0').ended
    expect(code).toBe(2)
    expect(stderr).toContain('the gateway cannot listen on 0.0.0.0 without TLS and tokens')
  })

  it('ends with a sentence when there is no job and when the topic is missing', async () => {
    const noJob = await weir(['gateway', '--listen', '127.0.0.1:0', '--port', '1']).ended
    expect(noJob.code).toBe(1)
    expect(noJob.stderr).toContain('UNAVAILABLE')
    const noTopic = await gateway('--observations', 'nothing').ended
    expect(noTopic.code).toBe(1)
    expect(noTopic.stderr).toContain('UNKNOWN_TOPIC')
    expect(jsonLines(noTopic.stdout)).toEqual([])
  })
})
