import { describe, expect, it } from 'vitest'
import { keyText } from '../../../src/core/formats/key-text.ts'
import { otherReading, refusalOfKey } from '../../../src/wire/state/asked-key.ts'

describe('a key that a query asks for by its text', () => {
  it('has another reading where keys have plain types, and a number a text where keys are texts', () => {
    expect(otherReading('5', 'key/1')).toBe(keyText(5))
    expect(otherReading('1-U', 'key/1')).toBeUndefined()
    expect(otherReading('5', 'string/1')).toBeUndefined()
    expect(otherReading(keyText(5), 'string/1')).toBe('5')
    expect(otherReading('5', 'bytes/1')).toBeUndefined()
  })

  it('is refused where only the job can write keys', () => {
    for (const format of ['key/1', 'string/1', 'bytes/1', 'int53/1', 'float64/1', undefined]) {
      expect(refusalOfKey('S', format)).toBeUndefined()
    }
    expect(refusalOfKey('S', 'own/1')).toMatchObject({ code: 'UNSUPPORTED' })
  })
})
