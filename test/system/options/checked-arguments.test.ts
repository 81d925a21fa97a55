import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ARGUMENTS } from './arguments/every.ts'
import { LEFT_OUT } from './arguments/left-out.ts'
import type { World } from './calls.ts'
import { declaredCalls } from './declared-calls.ts'
import type { DeclaredKind } from './declared-options.ts'
import { closeWorld, openWorld } from './world.ts'

const declared = declaredCalls()
const isLeftOut = (call: string): boolean => LEFT_OUT.some(([, calls]) => calls.test(call))
let world: World

beforeAll(async () => {
  world = await openWorld()
})
afterAll(closeWorld)

/** Values that a parameter of a kind does not take. */
const WRONG: Readonly<Record<DeclaredKind, readonly unknown[]>> = {
  number: ['1', Number.NaN, {}],
  text: [5, {}],
  flag: ['false', 0],
  words: ['no-such-word', 5],
  function: [{}, 'function'],
  object: [5, 'text', null],
  any: [],
  other: [() => {}],
}

it('each call that the package exports is in the table or is left out for a reason', () => {
  const called = [...declared.keys()].filter((call) => !isLeftOut(call))
  expect(Object.keys(ARGUMENTS).toSorted()).toEqual(called.toSorted())
})

describe.each(Object.entries(ARGUMENTS))('%s', (name, { args, call }) => {
  it.each((declared.get(name) ?? []).map((parameter, at) => ({ ...parameter, at })))(
    '$name: wrong values are refused',
    async ({ kind, at, takesNull, wrongMembers }) => {
      const others = WRONG[kind].filter((value) => value !== null || !takesNull)
      const wrongs = others.map((value) => ({ value, named: '' }))
      for (const { value: wrong, named } of [...wrongs, ...wrongMembers]) {
        const given = Array.from({ length: Math.max(args.length, at + 1) }, (_, i) => args[i])
        given[at] = wrong
        await expect(
          (async () => await call(world, ...(given as never[])))(),
          `argument ${at + 1}: ${inspect(wrong)}`,
        ).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining(named),
        })
      }
    },
  )
})
