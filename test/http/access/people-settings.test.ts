import { describe, expect, it } from 'vitest'
import { parseRight } from '../../../src/http/access/object-rights.ts'
import { grantOf, parsePeople } from '../../../src/http/access/people-settings.ts'

const FILE = {
  issuer: 'https://id.example.org',
  audience: 'weir',
  keys: 'https://id.example.org/keys',
  grants: { ops: { role: 'admin' }, fraud: { role: 'read', rights: ['read:model:fraud'] } },
}
const parse = (changes: object) =>
  parsePeople(JSON.stringify({ ...FILE, ...changes }), 'people.json', (path) => `keys of ${path}`)

describe('the file of people', () => {
  it('has the documented form and defaults', () => {
    expect(parse({})).toEqual({
      issuer: 'https://id.example.org',
      audience: 'weir',
      keys: { url: 'https://id.example.org/keys' },
      claim: 'groups',
      clockSkewSeconds: 30,
      grants: {
        ops: { role: 'admin' },
        fraud: { role: 'read', rights: [parseRight('read:model:fraud')] },
      },
    })
    expect(parse({ keys: 'keys.json' }).keys).toEqual({ json: 'keys of keys.json' })
    expect(parse({ keys: 'http://127.0.0.1:8080/keys' }).keys).toEqual({
      url: 'http://127.0.0.1:8080/keys',
    })
  })

  it.each([
    [{ issuer: undefined }, '"issuer" is missing'],
    [{ audience: '' }, '"audience" is missing'],
    [{ audiense: 'weir' }, 'unknown field "audiense"'],
    [{ keys: 'http://id.example.org/keys' }, '"keys" is a path, or an https:// URL'],
    [{ keys: 'file:///etc/passwd' }, '"keys" is a path, or an https:// URL'],
    [{ clockSkewSeconds: 1e9 }, '"clockSkewSeconds" is a number from 0 to 300'],
    [{ clockSkewSeconds: '30' }, '"clockSkewSeconds" is a number'],
    [{ grants: {} }, '"grants" is empty'],
    [{ grants: [] }, '"grants": it is not an object'],
    [{ grants: { ops: { role: 'root' } } }, 'grant "ops": "role" must be one of'],
    [{ grants: { ops: { role: 'read', right: [] } } }, 'unknown field "right"'],
    [{ grants: { ops: { role: 'read', rights: ['x'] } } }, 'ROLE:KIND:NAME'],
  ])('is refused with %j', (changes, message) => {
    expect(() => parse(changes)).toThrow(message)
  })

  it('that is no JSON is refused without showing what is in it', () => {
    expect(() => parsePeople('secret', 'people.json', String)).toThrow(
      'people.json: it is not JSON',
    )
  })
})

it('someone without a known group has no grant', () => {
  expect(grantOf(parse({}), ['others', 'toString', '__proto__'])).toBeUndefined()
})
