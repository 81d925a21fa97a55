import { describe, expect, it } from 'vitest'
import { formatOf } from '../../../../src/testing/load/targets/http-operation.ts'

const PAIR = { user: 'a/b', item: '7 "x"' }

describe('requests over HTTP', () => {
  it('are the routes of the gateway, with ids escaped', () => {
    const partsOf = (operation: Parameters<typeof formatOf>[0]) => formatOf(operation).parts([PAIR])
    expect(partsOf({ kind: 'predict', state: 'ALS_MODEL', batch: 1 })).toEqual({
      path: '/v1/predict/a%2Fb/7%20%22x%22',
    })
    expect(partsOf({ kind: 'predict', state: 'OTHER', version: 3, batch: 1 }).path).toMatch(
      /\?state=OTHER&version=3$/,
    )
    expect(partsOf({ kind: 'top-k', k: 5 })).toEqual({ path: '/recommend/a%2Fb?howMany=5' })
    expect(partsOf({ kind: 'rows', state: 'S', version: 2 })).toEqual({
      path: '/v1/states/S/a%2Fb?version=2',
    })
  })

  it('of a batch have all pairs in one body', () => {
    const { parts, method } = formatOf({ kind: 'predict', state: 'S', batch: 2 })
    const { path, body } = parts([PAIR, { user: '1', item: '2' }])
    expect([method, path]).toEqual(['POST', '/v1/predict'])
    expect(JSON.parse(body!)).toEqual({
      state: 'S',
      pairs: [
        ['a/b', '7 "x"'],
        ['1', '2'],
      ],
    })
  })

  it('of observations have ratings from 1 to 5', () => {
    const { parts } = formatOf({ kind: 'observe' })
    const ratings = Array.from({ length: 10 }, () => JSON.parse(parts([PAIR]).body!)[0])
    expect(ratings[0]).toEqual({ ...PAIR, rating: 1 })
    expect(new Set(ratings.map(({ rating }) => rating))).toEqual(new Set([1, 2, 3, 4, 5]))
  })

  it('of a template have ids for a URL in the path, for JSON in the body, and a number', () => {
    const { parts, headers } = formatOf({
      kind: 'template',
      method: 'PUT',
      path: '/x/{user}?n={n}',
      body: '{"item":"{item}","n":{n}}',
      contentType: 'application/json',
    })
    parts([PAIR])
    const { path, body } = parts([PAIR])
    expect(path).toBe('/x/a%2Fb?n=2')
    expect(JSON.parse(body!)).toEqual({ item: '7 "x"', n: 2 })
    expect(headers).toEqual({ 'content-type': 'application/json' })
  })
})
