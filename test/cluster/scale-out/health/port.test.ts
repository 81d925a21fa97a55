import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { HealthPort } from '../../../../src/cluster/scale-out/health/port.ts'
import { Probes, STUCK_MS } from '../../../../src/cluster/scale-out/health/probes.ts'
import { systemClock } from '../../../../src/core/clock.ts'

let probes: Probes
let url: string

beforeEach(async () => {
  probes = new Probes()
  const port = await HealthPort.open({ host: '127.0.0.1', port: 0, probes, clock: systemClock })
  onTestFinished(() => port[Symbol.asyncDispose]())
  url = `http://127.0.0.1:${port.port}`
})

async function get(path: string, method = 'GET'): Promise<[number, unknown]> {
  const answer = await fetch(`${url}${path}`, { method })
  return [answer.status, method === 'HEAD' ? await answer.text() : await answer.json()]
}

describe('the health port of a process', () => {
  it('says that a process lives that has not started, and that it is not ready', async () => {
    expect(await get('/health/live')).toEqual([200, { live: true }])
    const waiting = ['the process starts']
    expect(await get('/health/ready')).toEqual([503, { ready: false, waiting }])
    expect(await get('/health/startup')).toEqual([503, { started: false, waiting }])
  })

  it('has started from the first time on that it was ready', async () => {
    let notReady: readonly string[] = ['job partition 1 does not run yet']
    probes.follow({
      get notReady() {
        return notReady
      },
      silenceMs: () => 0,
    })
    expect(await get('/health/startup')).toEqual([503, { started: false, waiting: notReady }])
    notReady = []
    expect(await get('/v1/health/ready')).toEqual([200, { ready: true, waiting: [] }])
    notReady = ['the group of the job has removed this process, which joins again']
    expect(await get('/health/ready')).toEqual([503, { ready: false, waiting: notReady }])
    expect(await get('/health/startup')).toEqual([200, { started: true, waiting: [] }])
    expect(await get('/health/ready', 'HEAD')).toEqual([503, ''])
  })

  it('does not live when a slot thread is stuck', async () => {
    let silenceMs = STUCK_MS - 1
    probes.follow({ notReady: [], silenceMs: () => silenceMs })
    expect(await get('/health/live')).toEqual([200, { live: true }])
    silenceMs = STUCK_MS
    const waiting = ['a slot thread has not answered for 120 s']
    expect(await get('/health/live')).toEqual([503, { live: false, waiting }])
  })

  it('answers nothing else', async () => {
    expect(await get('/')).toEqual([404, { errors: [expect.stringContaining('/health/ready')] }])
    expect((await get('/health/live', 'POST'))[0]).toBe(405)
  })

  it('says which port is taken', async () => {
    const taken = Number(new URL(url).port)
    const opened = HealthPort.open({ host: '127.0.0.1', port: taken, probes, clock: systemClock })
    await expect(opened).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringContaining(`127.0.0.1:${taken} for --health`),
    })
  })
})
