import { describe, expect, it } from 'vitest'
import {
  keyLengthWithoutVersion,
  splitVersionedKey,
  versionOfKeyBytes,
} from '../../src/models/versioned-key.ts'

describe('versioned keys', () => {
  it.each([
    ['7-U@12', '7-U', 12],
    ['7-U', '7-U', 1],
    ['a@b-I', 'a@b-I', 1],
    ['a@b-I@3', 'a@b-I', 3],
    ['a@@3', 'a@', 3],
    ['a@0', 'a@0', 1],
    ['a@03', 'a@03', 1],
    ['a@12345678901', 'a@12345678901', 1],
    ['a@', 'a@', 1],
    ['@5', '', 5],
  ])(
    'are split at the last @ of "%s" if a version follows, as text and as bytes',
    (text, key, version) => {
      expect(splitVersionedKey(text)).toEqual({ key, version })
      const bytes = new TextEncoder().encode(text)
      const length = keyLengthWithoutVersion(bytes)
      expect(new TextDecoder().decode(bytes.subarray(0, length))).toBe(key)
      expect(versionOfKeyBytes(bytes, length)).toBe(version)
    },
  )
})
