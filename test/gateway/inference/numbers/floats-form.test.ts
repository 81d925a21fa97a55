import { describe, expect, it } from 'vitest'
import { FloatsForm } from '../../../../src/gateway/inference/numbers/floats-form.ts'

const body = (data: string, id = 'a') =>
  Buffer.from(`{"id":"${id}","inputs":[{"name":"x","shape":[2],"data" : ${data}}]}`)

const formOf = (json: Buffer, count = 2) => FloatsForm.of(json, count, 'meaning')

describe('the form of a body with floats', () => {
  it('reads bodies that differ from it in the numbers alone', () => {
    const form = formOf(body('[1,2]'))!
    expect(form.meaning).toBe('meaning')
    expect(form.floatsOf(body('[ 3.5 , -4 ]'))).toEqual(Float32Array.of(3.5, -4))
    const nested = formOf(body('[[1],[2]]'))!
    expect(nested.floatsOf(body('[[7], [8]]'))).toEqual(Float32Array.of(7, 8))
  })

  it.each([
    ['another id', body('[1,2]', 'b')],
    ['fewer numbers', body('[1]')],
    ['more numbers', body('[1,2,3]')],
    ['no numbers', body('["1",2]')],
    ['the numbers nested in another way', body('[[7],[8]]')],
    ['the numbers nested once more', body('[[7,8]]')],
    ['bytes behind its end', Buffer.concat([body('[1,2]'), Buffer.from(' ')])],
    ['a cut', body('[1,2]').subarray(0, -1)],
    ['nothing', Buffer.alloc(0)],
  ])('does not read a body with %s', (_, json) => {
    expect(formOf(body('[1,2]'))!.floatsOf(json)).toBeUndefined()
  })

  it('keeps nothing of the memory of the body, which is used again', () => {
    const json = body('[1,2]')
    const form = formOf(json)!
    json.fill(0)
    expect(form.floatsOf(body('[3,4]'))).toEqual(Float32Array.of(3, 4))
  })

  it('knows an input that is named data', () => {
    const named = (data: string) => Buffer.from(`{"inputs":[{"name":"data","data":${data}}]}`)
    expect(formOf(named('[1,2]'))!.floatsOf(named('[3,4]'))).toEqual(Float32Array.of(3, 4))
  })

  it.each([
    ['two lists under data', '{"parameters":{"data":[1,2]},"inputs":[{"data":[1,2]}]}'],
    ['the key data twice', '{"data":[1,2],"data":[1,2]}'],
    ['a text with escapes', '{"id":"\\"data\\":[1,2]","inputs":[{"d\\u0061ta":[1,2]}]}'],
    ['no list under data', '{"data":5}'],
    ['another number of floats', '{"data":[1,2,3]}'],
  ])('is not made of a body with %s', (_, json) => {
    expect(formOf(Buffer.from(json))).toBeUndefined()
  })
})
