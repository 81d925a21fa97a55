import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALLS, type World } from './calls.ts'
import { type DeclaredKind, type DeclaredOption, declaredOptions } from './declared-options.ts'
import { closeWorld, openWorld } from './world.ts'
import { misspelt } from './wrong-members.ts'

const declared = declaredOptions()
let world: World

beforeAll(async () => {
  world = await openWorld()
})
afterAll(closeWorld)

/** The error of a call with these options besides those that it needs; undefined where it takes them. */
async function refusalOf(type: string, options: object): Promise<unknown> {
  const { valid = {}, call } = CALLS[type]!
  try {
    await call({ ...valid, ...options } as never, world)
    return undefined
  } catch (error) {
    return error
  }
}

/** Values that an option of a kind does not take. */
const WRONG: Readonly<Record<DeclaredKind, readonly unknown[]>> = {
  number: ['1000', Number.NaN],
  text: [5],
  flag: ['false', 0],
  words: ['no-such-word', 'EXACTLY_ONCES', 1.25],
  function: [{}, 'function'],
  object: [5, 'text'],
  any: [],
  other: [],
}

const shownOf = (name: string, value: unknown): string => `${name}: ${inspect(value)}`

const types = [...declared].map(([type, options]) => [type, options] as const)

it('each type of options that the package exports has a call in the table, and no other one', () => {
  expect(declared.size).toBeGreaterThan(90)
  expect(Object.keys(CALLS).toSorted()).toEqual([...declared.keys()].toSorted())
})

it('each union of words or of plain objects is walked with members that it does not have', () => {
  const wrong = [...declared.values()].flat().flatMap(({ wrongMembers }) => wrongMembers)
  expect(wrong.length).toBeGreaterThan(400)
})

describe.each(types)('%s', (type: string, options: readonly DeclaredOption[]) => {
  const { elsewhere = [] } = CALLS[type] ?? {}
  it.each(options.filter(({ name }) => !elsewhere.includes(name)))(
    '$name: a wrong name and wrong values are refused',
    async ({ name, kind, wrongMembers }) => {
      const unknown = misspelt(name)
      expect(await refusalOf(type, { [unknown]: 1 }), `{ ${unknown}: 1 }`).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(new RegExp(`${unknown}".*${name}`)),
      })
      for (const wrong of [...WRONG[kind], Symbol('wrong'), null]) {
        expect(
          await refusalOf(type, { [name]: wrong }),
          `{ ${name}: ${String(wrong)} }`,
        ).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(name) })
      }
      for (const { value, named } of wrongMembers) {
        expect(await refusalOf(type, { [name]: value }), shownOf(name, value)).toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining(named),
        })
      }
    },
  )
})
