import { describe, expect, it } from 'vitest'
import { ModelRequests } from '../../../src/gateway/inference/message.ts'

const INPUTS = [{ name: 'x', datatype: 'FP32', shape: [-1] }] as const
const bodyOf = (data: readonly unknown[], more: object = {}) =>
  Buffer.from(
    JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data }], ...more }),
  )
/** What a reader that has seen no request before makes of a body. */
const freshly = (body: Buffer) => new ModelRequests(INPUTS).read(body, undefined)

describe('the requests for a model in JSON', () => {
  it('are the same whether the JSON around the numbers is known or not', () => {
    const requests = new ModelRequests(INPUTS)
    const { inputs } = requests.read(bodyOf([1, 2]), undefined)
    for (const data of [
      [3, 4],
      [0.1, -1e-7],
      [[5], [6]],
    ]) {
      const body = bodyOf(data)
      expect(requests.read(body, undefined)).toMatchObject({ inputs: freshly(body).inputs })
    }
    expect(inputs).toEqual([{ ...INPUTS[0], shape: [2], data: Float32Array.of(1, 2) }])
  })

  it('are parsed again when something else than the numbers is different', () => {
    const requests = new ModelRequests(INPUTS)
    requests.read(bodyOf([1, 2], { id: 'a' }), undefined)
    for (let i = 0; i < 40; i++) {
      const read = requests.read(bodyOf([i, i + 1], { id: `b${i}` }), undefined)
      expect(read.id).toBe(`b${i}`)
      expect(read.inputs[0]!.data).toEqual(Float32Array.of(i, i + 1))
    }
    const timeout = { parameters: { timeout: 5000 } }
    expect(requests.read(bodyOf([1, 2], timeout), undefined).timeoutMs).toBe(5)
  })

  it('are refused with the same words', () => {
    const requests = new ModelRequests(INPUTS)
    requests.read(bodyOf([1, 2]), undefined)
    for (const data of [[1], [1, 2, 3], [1, null], [1, '2']]) {
      const body = bodyOf(data)
      const wordsOf = (read: () => unknown) => {
        try {
          return read()
        } catch (error) {
          return String(error)
        }
      }
      const words = wordsOf(() => freshly(body))
      expect(words).toContain('tensor "x"')
      expect(wordsOf(() => requests.read(body, undefined))).toBe(words)
    }
  })
})
