import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALLS, type World } from './calls.ts'
import { type DeclaredKind, type DeclaredOption, declaredOptions } from './declared-options.ts'
import { closeWorld, openWorld } from './world.ts'

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

/** A name with its middle letter twice. */
function misspelt(name: string): string {
  const middle = name.length >> 1
  return name.slice(0, middle) + name[middle]! + name.slice(middle)
}

const types = [...declared].map(([type, options]) => [type, options] as const)

it('each type of options that the package exports has a call in the table, and no other one', () => {
  expect(declared.size).toBeGreaterThan(90)
  expect(Object.keys(CALLS).toSorted()).toEqual([...declared.keys()].toSorted())
})

describe.each(types)('%s', (type: string, options: readonly DeclaredOption[]) => {
  const { elsewhere = [] } = CALLS[type] ?? {}
  it.each(options.filter(({ name }) => !elsewhere.includes(name)))(
    '$name: a wrong name and wrong values are refused',
    async ({ name, kind }) => {
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
    },
  )
})
