import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../src/core/errors.ts'
import { modelReaderContract } from '../contracts/model-reader.ts'
import { ModelWorld } from '../contracts/model-reader-world.ts'

modelReaderContract('the in-place reader', (world) => ({
  reader: world.reader(),
  close: () => {},
}))

/** A world that does not know the user and item tables of slot 1 yet, as at the start of a restore. */
function worldWithoutTablesOfOneSlot(): ModelWorld {
  const world = new ModelWorld()
  for (let i = 0; i < 20; i++) {
    world.put(`${i}-U`, [1, 1, 1, 1])
    world.put(`${i}-I`, [1, 0, 0, 0])
  }
  for (const state of ['users', 'items']) world.catalog.drop('model', state, 1, 1)
  return world
}

/** Codes with which predictions for 20 users fail; undefined for those that succeed. */
async function codesOf(world: ModelWorld): Promise<Set<string | undefined>> {
  const reader = world.reader()
  const codes = new Set<string | undefined>()
  for (let i = 0; i < 20; i++) {
    const options = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
    const answer = await reader.predict('ALS_MODEL', `${i}-U`, `${i}-I`, options).then(
      () => undefined,
      (error: unknown) => (isWeirError(error) ? error.code : 'no WeirError'),
    )
    codes.add(answer)
  }
  return codes
}

describe('a slot that has told neither tables nor progress', () => {
  it('is still restoring: its rows are not unknown, and no mean is made without them', async () => {
    const world = worldWithoutTablesOfOneSlot()
    expect(await codesOf(world)).toEqual(new Set([undefined, 'RESTORING']))
    world.progress(1, 1)
    expect(await codesOf(world)).toEqual(new Set([undefined]))
    world.close()
  })

  it('is missed by top-k', async () => {
    const world = worldWithoutTablesOfOneSlot()
    const search = () =>
      world.reader().topK('ALS_MODEL', Float32Array.of(1, 1, 1, 1), { k: 3, suffix: '-I' })
    expect(await search()).toMatchObject({ ok: false, error: { code: 'RESTORING' } })
    world.progress(1, 1)
    expect(await search()).toMatchObject({ ok: true })
    world.close()
  })
})

describe('the age of an answer', () => {
  it('is that of the moment before the slot was asked, not of what it applied meanwhile', async () => {
    const world = new ModelWorld()
    const { ask } = world
    world.putCount('a', new Uint8Array(1))
    world.progress(1, Date.now() - 10_000)
    // The slot applies more while its answer is on the way.
    world.ask = async (slot, request) => {
      const reply = await ask.call(world, slot, request)
      world.progress(2, Date.now())
      return reply
    }
    const [answer] = await world.reader().values('COUNTS', ['a'])
    expect(answer?.ok === true && answer.envelope.ageMs).toBeGreaterThanOrEqual(10_000)
    world.close()
  })
})

describe('a bound that was reached before the slot went back to a checkpoint', () => {
  it('is not taken for reached by what the slot answers afterwards', async () => {
    const world = new ModelWorld()
    const { ask } = world
    world.putCount('a', new Uint8Array(1))
    world.progress(10, Date.now())
    // The slot restores between the look at its progress and its answer.
    world.ask = async (slot, request) => {
      world.board.beginSlotLife(slot)
      world.progress(1, Date.now())
      return await ask.call(world, slot, request)
    }
    const consistency = { level: 'at-least', partition: 0, offset: 5 } as const
    const [answer] = await world.reader().values('COUNTS', ['a'], { consistency })
    expect(answer).toMatchObject({ ok: false, error: { code: 'RESTORING' } })
    world.close()
  })
})
