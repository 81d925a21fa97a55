import { describe, expect, it } from 'vitest'
import { mayActAs } from '../../../src/http/access/role.ts'

describe('mayActAs', () => {
  it.each([
    ['read', 'read', true],
    ['read', 'write', false],
    ['read', 'admin', false],
    ['write', 'read', true],
    ['write', 'write', true],
    ['write', 'admin', false],
    ['admin', 'read', true],
    ['admin', 'write', true],
    ['admin', 'admin', true],
  ] as const)('a token with %s, where %s is needed: %s', (role, needed, allowed) => {
    expect(mayActAs(role, needed)).toBe(allowed)
  })
})
