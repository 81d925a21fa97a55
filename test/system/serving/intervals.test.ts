import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { predictRating } from '../../../src/models/als/row.ts'
import { predictInterval } from '../../../src/wire/rating-interval.ts'
import { SHARED_COMPILERS } from '../../http/shared-compilers.ts'
import { type CommandProcess, type CommandResult, jsonLines, weir } from '../cli/command-process.ts'

let folder: string
let variances: ReadonlyMap<string, readonly number[]>
let served: CommandProcess
let port: string

const run = async (...args: string[]): Promise<CommandResult> => await weir(args).ended

const inFolder = (...args: string[]): Promise<CommandResult> =>
  run(...args, '--data-dir', join(folder, 'data'))

async function start(...job: string[]): Promise<void> {
  served = weir([...job, '--data-dir', join(folder, 'data'), '--port', '0', '--json'])
  port = (await served.printed(/"started","port":(\d+)/))[1]!
  await served.printed(/"event":"live","version":1/)
}

async function stop(): Promise<void> {
  served.signal('SIGINT')
  expect(await served.ended).toMatchObject({ code: 0 })
}

interface Predicted {
  readonly score: number
  readonly interval: { readonly low: number; readonly high: number; readonly deviation: number }
}

async function predicted(user: string, item: string, ...flags: string[]): Promise<Predicted> {
  const asked = ['predict', user, item, '--port', port, '--interval', '0.95', '--json']
  const { code, stdout, stderr } = await run(...asked, ...flags)
  expect([code, stderr]).toEqual([0, ''])
  return jsonLines(stdout)[0] as unknown as Predicted
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-intervals-'))
  const ratings = join(folder, 'ratings.data')
  await run(
    ...['generate', 'ratings', '--users', '120', '--items', '50', '--ratings', '3000'],
    ...['--output', ratings],
  )
  const file = join(folder, 'variances.txt')
  const trained = await inFolder(
    ...['train', 'bmf', '--ratings', ratings, '--factors', '4', '--threads', '0'],
    ...['--intervals', '--variance', file],
  )
  expect(trained.code).toBe(0)
  const plain = await inFolder(
    ...['train', 'als', '--ratings', ratings, '--factors', '4', '--threads', '0'],
  )
  expect(plain.stdout).toContain('version 2')
  variances = new Map(
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','))
      .map(([id, kind, floats]) => [`${id}-${kind}`, floats!.split(';').map(Number)]),
  )
  await start('run', 'als-serving')
})

afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('the interval of a prediction', () => {
  it('is that of the variances that the training wrote', async () => {
    const { score, interval } = await predicted('1', '2')
    const variance = predictRating(variances.get('1-U')!, variances.get('2-I')!)
    expect(interval.deviation).toBeCloseTo(Math.sqrt(variance), 4)
    expect(interval.low).toBeCloseTo(score - 1.959964 * Math.sqrt(variance), 4)
    expect(interval.high).toBeCloseTo(score + 1.959964 * Math.sqrt(variance), 4)
  })

  it('is printed behind the score', async () => {
    const asked = ['predict', '1', '2', '--port', port, '--interval', '0.5']
    expect((await run(...asked)).stdout).toMatch(
      /^2 +\d\.\d{4} {2}-?\d\.\d{4} to \d\.\d{4} {2}version 1$/m,
    )
  })

  it('is wider for a user that the model does not know', async () => {
    const [known, unknown] = [await predicted('1', '2'), await predicted('nobody', '2')]
    expect(unknown.interval.deviation).toBeGreaterThan(known.interval.deviation)
  })

  it('is refused for a version without variances, with the flag that trains it', async () => {
    const asked = ['predict', '1', '2', '--port', port, '--interval', '0.95', '--version', '2']
    const { code, stderr } = await run(...asked)
    expect(code).toBe(1)
    expect(stderr).toContain('UNSUPPORTED: version 2 has no variances')
    expect(stderr).toContain('weir train bmf --ratings FILE --intervals')
  })

  it('is answered over HTTP and by the client, and refused for a share that is none', async () => {
    const { interval } = await predicted('1', '2')
    await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
    const pair = { state: 'ALS_MODEL', left: '1-U', right: '2-I', share: 0.95 }
    const asked = await predictInterval(client, pair)
    expect(asked).toMatchObject({ ok: true, value: { interval } })
    const wrong = predictInterval(client, { ...pair, share: 1 })
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const app = await createGateway(
      { state: client },
      { version: '1.2.3', clock: systemClock, compilers: SHARED_COMPILERS },
    )
    try {
      const answer = await app.inject('/v1/predict/1/2?interval=0.95')
      expect([answer.statusCode, answer.json()]).toMatchObject([200, { interval }])
      expect((await app.inject('/v1/predict/1/2')).json()).not.toHaveProperty('interval')
      const wide = await app.inject('/v1/predict/1/2?interval=1')
      expect([wide.statusCode, wide.json().code]).toEqual([400, 'INVALID_ARGUMENT'])
      const none = await app.inject('/v1/predict/1/2?interval=0.95&version=2')
      expect([none.statusCode, none.json().code]).toEqual([501, 'UNSUPPORTED'])
    } finally {
      await app.close()
    }
  })

  it('is served by the learning job, too', async () => {
    const before = await predicted('1', '2')
    await stop()
    await start('learn', 'als')
    expect((await predicted('1', '2')).interval).toEqual(before.interval)
  })
})
