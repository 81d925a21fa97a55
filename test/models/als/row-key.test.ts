import { describe, expect, it } from 'vitest'
import {
  alsKey,
  idOfKey,
  idOfKeyBytes,
  isMeanKeyBytes,
  isRowOf,
  kindOfKey,
  kindOfKeyBytes,
  MEAN_KEYS,
  parseAlsKey,
  writeKeySuffix,
} from '../../../src/models/als/row-key.ts'

describe('row keys', () => {
  it('are parsed as they were formatted', () => {
    expect(alsKey('42', 'U')).toBe('42-U')
    expect(parseAlsKey(alsKey('a@b.c-U', 'I', 7))).toEqual({ id: 'a@b.c-U', kind: 'I', version: 7 })
    expect(parseAlsKey('42-U')).toEqual({ id: '42', kind: 'U', version: 1 })
  })

  it.each(['', '-U', '42', '42-X', '42U', '42-u', '42-X@3'])('refuse "%s"', (text) => {
    expect(() => parseAlsKey(text)).toThrow(expect.objectContaining({ code: 'UNPARSABLE_RECORD' }))
  })

  it.each(['U', 'I'] as const)('of the mean rows belong to no id (%s)', (kind) => {
    expect(() => alsKey('MEAN', kind)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('give this user or item another id'),
      }),
    )
    const isMean = (key: string) =>
      isMeanKeyBytes(new TextEncoder().encode(`x${key}x`), 1, key.length)
    expect(isMean(MEAN_KEYS[kind])).toBe(true)
    for (const other of ['MEANS', 'mean', 'MEA', 'xMEAN', 'MEAM']) {
      expect({ other, isMean: isMean(`${other}-${kind}`) }).toEqual({ other, isMean: false })
    }
    expect(alsKey('mean', kind)).toBe(`mean-${kind}`)
  })

  it('say as bytes and as text whose row it is, and its id', () => {
    const bytes = new TextEncoder().encode('xxa-I-Ux')
    expect(kindOfKeyBytes(bytes, 2, 5)).toBe('U')
    expect(kindOfKeyBytes(bytes, 2, 3)).toBe('I')
    expect(kindOfKeyBytes(bytes, 2, 4)).toBeUndefined()
    expect(kindOfKeyBytes(bytes, 3, 2)).toBeUndefined()
    expect(kindOfKeyBytes(bytes)).toBeUndefined()
    expect(idOfKeyBytes(bytes.subarray(2, 7))).toBe('a-I')
    expect([kindOfKey('a-I-U'), idOfKey('a-I-U')]).toEqual(['U', 'a-I'])
    expect([kindOfKey('a-I'), idOfKey('a-I')]).toEqual(['I', 'a'])
    const keys = ['a-U', 'a-I', 'MEAN-U', 'MEAN-I']
    expect(keys.filter((key) => isRowOf(key, 'U'))).toEqual(['a-U'])
    expect(keys.filter((key) => isRowOf(key, 'I'))).toEqual(['a-I'])
  })

  it('are written behind an id', () => {
    const key = new TextEncoder().encode('42......')
    expect(writeKeySuffix(key, 2, 'I')).toBe(4)
    expect(new TextDecoder().decode(key.subarray(0, 4))).toBe(alsKey('42', 'I'))
  })
})
