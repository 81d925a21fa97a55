import { describe, expect, it } from 'vitest'
import { AccessControl, mayOn, requireOn, shareAccess } from '../../../src/http/access/control.ts'
import {
  modelObject,
  parseRight,
  rightText,
  roleOn,
} from '../../../src/http/access/object-rights.ts'
import type { Role } from '../../../src/http/access/role.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { tokenOf } from './tokens.ts'

const RIGHTS = ['read:model:fraud', 'admin:model:ocr-*', 'write:topic:ratings', 'read:state:*'].map(
  parseRight,
)

describe('rights on objects', () => {
  it.each([
    ['model', 'fraud', 'read'],
    ['model', 'fraud-2', undefined],
    ['model', 'frau', undefined],
    ['model', 'ocr-', 'admin'],
    ['model', 'ocr-de', 'admin'],
    ['model', 'ocr', undefined],
    ['topic', 'ratings', 'write'],
    ['topic', 'fraud', undefined],
    ['state', '', 'read'],
    ['state', 'anything', 'read'],
    ['job', 'fraud', undefined],
    ['model', undefined, 'admin'],
    ['job', undefined, undefined],
  ] as const)('give on the %s %s: %s', (kind, name, role) => {
    expect(roleOn(RIGHTS, { kind, name })).toBe(role)
  })

  it('are written as they are read', () => {
    for (const text of [
      'read:model:fraud',
      'admin:job:als-*',
      'write:topic:a:b c',
      'read:state:*',
    ]) {
      expect(rightText(parseRight(text))).toBe(text)
    }
  })

  it.each([
    '',
    'read',
    'read:model',
    'read:model:',
    'owner:model:x',
    'read:table:x',
    'read:model:a*b',
    'read:model:a\nb',
    'READ:model:x',
    `read:model:${'x'.repeat(1025)}`,
  ])('are refused in another form: %j', (text) => {
    expect(() => parseRight(text)).toThrow(/ROLE:KIND:NAME/)
  })

  it('on a model are those on its aliases', () => {
    expect(modelObject('ocr@stable')).toEqual({ kind: 'model', name: 'ocr' })
    expect(modelObject('ocr')).toEqual({ kind: 'model', name: 'ocr' })
  })
})

describe('a token with rights', () => {
  const limited = tokenOf(1, { role: 'read', rights: RIGHTS })
  const admin = tokenOf(2, { role: 'admin' })
  const none = tokenOf(3, { role: 'admin', rights: [] })
  const access = new AccessControl(
    shareAccess([limited.record, admin.record, none.record]),
    new ManualClock(),
  )
  const decide = (
    text: string,
    needed: Role,
    on: Parameters<typeof access.authorize>[2] = {},
  ): string => access.authorize(text, needed, on).kind

  it('has the role of a right on its object, which may be stronger than its own', () => {
    expect(decide(limited.text, 'admin', { on: { kind: 'model', name: 'ocr-de' } })).toBe('allowed')
    expect(decide(limited.text, 'write', { on: { kind: 'model', name: 'fraud' } })).toBe(
      'forbidden',
    )
  })

  it('has no right on other objects, whatever its role', () => {
    expect(decide(limited.text, 'read', { on: { kind: 'job', name: 'als' } })).toBe('forbidden')
    expect(decide(none.text, 'read', { on: { kind: 'job', name: 'als' } })).toBe('forbidden')
  })

  it('needs the right on each of several objects', () => {
    const state = { kind: 'state', name: 's' } as const
    expect(decide(limited.text, 'read', { on: [state, { kind: 'model', name: 'fraud' }] })).toBe(
      'allowed',
    )
    expect(decide(limited.text, 'read', { on: [state, { kind: 'model', name: 'other' }] })).toBe(
      'forbidden',
    )
  })

  it('has its role for what is no object', () => {
    expect(decide(limited.text, 'read')).toBe('allowed')
    expect(decide(limited.text, 'write')).toBe('forbidden')
    expect(decide(none.text, 'admin')).toBe('allowed')
  })

  it('is not a token without: that has its role on all objects', () => {
    expect(decide(admin.text, 'admin', { on: { kind: 'job', name: 'als' } })).toBe('allowed')
  })

  it('is refused with the right that it lacks', () => {
    const holder = access.authenticate(limited.text)!
    expect(mayOn(holder, 'read', { kind: 'state', name: 'x' })).toBe(true)
    expect(() => requireOn(holder, 'admin', { kind: 'topic', name: 'ratings' })).toThrow(
      `token ${limited.record.id} has not the right "admin" on the topic "ratings"; it needs the right admin:topic:ratings`,
    )
  })

  it('ends its connections when its rights change', () => {
    const changing = new AccessControl(shareAccess([limited.record]), new ManualClock())
    const holder = changing.authenticate(limited.text)!
    changing.replace(shareAccess([{ ...limited.record, rights: [...RIGHTS] }]))
    expect(changing.holds(holder)).toBe(true)
    changing.replace(shareAccess([{ ...limited.record, rights: RIGHTS.slice(1) }]))
    expect(changing.holds(holder)).toBe(false)
    const { rights: _, ...without } = limited.record
    changing.replace(shareAccess([without]))
    expect(changing.holds(holder)).toBe(false)
  })
})
