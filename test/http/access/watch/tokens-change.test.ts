import { expect, it } from 'vitest'
import { tokensChange } from '../../../../src/http/access/watch/tokens-change.ts'
import { tokenOf } from '../tokens.ts'

const [a, b, c] = [1, 2, 3].map((byte) => tokenOf(byte).record) as [
  ReturnType<typeof tokenOf>['record'],
  ReturnType<typeof tokenOf>['record'],
  ReturnType<typeof tokenOf>['record'],
]

it('a change of the tokens file names who came, went and changed', () => {
  expect(tokensChange([a, b], [{ ...a, role: 'admin' }, c])).toMatchObject({
    who: 'the tokens file',
    did: 'tokens',
    on: `~${a.id} +${c.id} -${b.id}`,
    outcome: 'done',
  })
})

it('a tokens file that was only written again is no change', () => {
  expect(tokensChange([a, b], [{ ...b }, { ...a }])).toBeUndefined()
})
