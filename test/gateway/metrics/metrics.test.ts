import { describe, expect, it } from 'vitest'
import type { SiblingGroup } from '../../../src/gateway/metrics/sibling-threads.ts'
import { GatewayWorld } from '../world.ts'

type App = Awaited<ReturnType<GatewayWorld['open']>>

const COUNT = 'weir_gateway_request_duration_seconds_count'

async function linesOf(app: App, url = '/metrics'): Promise<string[]> {
  return (await app.inject({ url })).body.split('\n')
}

/** The hook that measures runs after the answer was sent. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

const INFER = {
  method: 'POST',
  url: '/v2/models/ALS_MODEL/infer',
  payload: {
    inputs: [
      { name: 'user', datatype: 'BYTES', shape: [2], data: ['1', '2'] },
      { name: 'item', datatype: 'BYTES', shape: [2], data: ['50', '50'] },
    ],
  },
} as const

describe('GET /metrics of the gateway', () => {
  it('counts requests by route and status, not by path', async () => {
    const app = await new GatewayWorld().open()
    for (const url of ['/v1/predict/1/50', '/v1/predict/2/50', '/v1/states/NOPE/1', '/nowhere']) {
      await app.inject({ url })
    }
    await settled()
    const lines = await linesOf(app)
    expect(lines).toContain(`${COUNT}{method="GET",route="/v1/predict/:user/:item",status="200"} 2`)
    expect(lines).toContain(`${COUNT}{method="any",route="none",status="404"} 1`)
    const buckets = lines.filter((line) =>
      line.startsWith(
        'weir_gateway_request_duration_seconds_bucket{method="GET",route="/v1/predict/:user/:item"',
      ),
    )
    expect(buckets.at(-1)).toContain('le="+Inf"} 2')
    await app.close()
  })

  it('says which version of each model is live', async () => {
    const world = new GatewayWorld()
    const app = await world.open()
    expect(await linesOf(app)).toContain(
      'weir_gateway_live_version{job_name="als",model="ALS_MODEL"} 1',
    )
    world.liveVersion = 0
    expect(await linesOf(app)).toContain(
      'weir_gateway_live_version{job_name="als",model="ALS_MODEL"} 0',
    )
    await app.close()
  })

  it('has the content type of the text format 0.0.4', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject({ url: '/metrics' })
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    await app.close()
  })

  it("counts inferences, also under Triton's names", async () => {
    const app = await new GatewayWorld().open()
    expect((await app.inject(INFER)).statusCode).toBe(200)
    expect((await app.inject({ ...INFER, payload: { inputs: [] } })).statusCode).toBe(400)
    const labels = '{model="ALS_MODEL",version="1"}'
    expect(await linesOf(app)).toEqual(
      expect.arrayContaining([
        `weir_inference_requests_succeeded_total${labels} 1`,
        `weir_inference_items_total${labels} 2`,
      ]),
    )
    const triton = await linesOf(app, '/metrics/triton')
    expect(triton).toEqual(
      expect.arrayContaining([
        `nv_inference_request_success${labels} 1`,
        `nv_inference_request_failure${labels} 1`,
        `nv_inference_count${labels} 2`,
        `nv_inference_exec_count${labels} 1`,
        expect.stringMatching(/^nv_inference_request_duration_us\{.*\} \d+$/),
      ]),
    )
    await app.close()
  })
})

describe('the metrics of gateways that share a port', () => {
  const group = (thread: number, threads = 2): SiblingGroup => ({
    channel: `test-${process.pid}-${threads}`,
    threads,
    thread,
  })

  it('are the sums of all of them, whichever answers', async () => {
    const [a, b] = await Promise.all(
      [0, 1].map((thread) => new GatewayWorld().open({}, { siblings: group(thread) })),
    )
    for (const app of [a!, b!, b!]) {
      await app.inject({ url: '/v1/predict/1/50' })
      await app.inject(INFER)
    }
    await settled()
    for (const app of [a!, b!]) {
      const lines = await linesOf(app)
      expect(lines).toContain(
        `${COUNT}{method="GET",route="/v1/predict/:user/:item",status="200"} 3`,
      )
      expect(lines).toContain(
        'weir_inference_requests_succeeded_total{model="ALS_MODEL",version="1"} 3',
      )
    }
    await Promise.all([a!.close(), b!.close()])
  })

  it('are refused while one of them does not answer', async () => {
    const siblings = { ...group(0, 3), timeoutMs: 50 }
    const app = await new GatewayWorld().open({}, { siblings })
    const answer = await app.inject({ url: '/metrics' })
    expect(answer.statusCode).toBe(503)
    expect(answer.json().detail).toContain('1 of 3 threads')
    await app.close()
  })
})
