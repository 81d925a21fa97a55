import { describe, expect, it } from 'vitest'
import { GatewayWorld } from '../world.ts'

describe('a request with a deadline', () => {
  it('ends at it on every route, whatever the route waits for', async () => {
    const world = new GatewayWorld()
    const never = (): Promise<never> => new Promise(() => {})
    await using app = await world.open({
      observations: { topic: 'ratings', append: never, reachable: never },
      models: new Proxy({}, { get: () => never }) as never,
    })
    const headers = { 'weir-deadline-ms': '100' }
    const waiting = [
      { method: 'POST', url: '/v1/observe', payload: { user: '1', item: '5', rating: 1 } },
      { method: 'POST', url: '/pref/1/5', payload: '1' },
      { method: 'GET', url: '/v1/models/versions' },
    ] as const
    for (const request of waiting) {
      const answer = await app.inject({ ...request, headers })
      expect([request.url, answer.statusCode]).toEqual([request.url, 504])
      expect(answer.json()).toMatchObject({ code: 'DEADLINE_EXCEEDED', status: 504 })
    }
    const wrong = { 'weir-deadline-ms': 'soon' }
    expect((await app.inject({ url: '/v1/models/versions', headers: wrong })).statusCode).toBe(400)
  })

  it('is answered as always before it', async () => {
    await using app = await new GatewayWorld().open()
    const headers = { 'weir-deadline-ms': '60000' }
    expect((await app.inject({ url: '/v1/health/live', headers })).json()).toEqual({ live: true })
  })
})
