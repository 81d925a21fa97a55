import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import type { DeferredPredictions } from '../../../src/serving/port/query-backend.ts'
import type { Consistency, QueryOptions } from '../../../src/wire/model-reader.ts'
import { modelReaderContract } from '../../contracts/model-reader.ts'
import { ModelWorld } from '../../contracts/model-reader-world.ts'

modelReaderContract('the in-place reader', (world) => ({
  reader: world.reader(),
  close: () => {},
}))

/** Pairs as the server defers them: keys in the bytes of a frame. */
function deferred(pairs: readonly (readonly [string, string])[]): DeferredPredictions {
  const spans: number[] = []
  let at = 0
  for (const key of pairs.flat()) {
    spans.push(at, key.length)
    at += key.length
  }
  return { bytes: new TextEncoder().encode(pairs.flat().join('')), spans }
}

/** A world that does not know the user and item tables of slot 1 yet, as at the start of a restore. */
function worldWithoutTablesOfOneSlot(): ModelWorld {
  const world = new ModelWorld()
  for (let i = 0; i < 20; i++) {
    world.put(`${i}-U`, [1, 1, 1, 1])
    world.put(`${i}-I`, [1, 0, 0, 0])
  }
  for (const state of ['users', 'items']) {
    world.catalog.drop({ operatorUid: 'model', state, version: 1, slot: 1 })
  }
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

describe('a slot that has reported neither tables nor progress', () => {
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

  it('is missed by a scan, which must not answer a part of the rows', async () => {
    const world = worldWithoutTablesOfOneSlot()
    const scan = () => world.reader().scan('ALS_MODEL', { from: '', to: '~', limit: 100 })
    await expect(scan()).rejects.toMatchObject({ code: 'RESTORING' })
    world.progress(1, 1)
    expect((await scan()).length).toBeGreaterThan(0)
    world.close()
  })
})

describe('the age of an answer', () => {
  it('is that of the time before the slot was asked, not of records applied meanwhile', async () => {
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
  it('does not count for answers of the slot after that', async () => {
    const world = new ModelWorld()
    const { ask } = world
    world.putCount('a', new Uint8Array(1))
    world.progress(10, Date.now())
    // The slot restores between the look at its progress and its answer.
    world.ask = async (slot, request) => {
      world.board.beginSlotIncarnation(slot, 1)
      world.progress(1, Date.now())
      return await ask.call(world, slot, request)
    }
    const consistency = { level: 'at-least', partition: 0, offset: 5 } as const
    const [answer] = await world.reader().values('COUNTS', ['a'], { consistency })
    expect(answer).toMatchObject({ ok: false, error: { code: 'RESTORING' } })
    world.close()
  })
})

describe('a slot that goes back to a checkpoint while it is asked for spilled rows', () => {
  /** A world with more rows than memory, whose slots restart at the first request. */
  function interruptedWorld(): ModelWorld {
    const world = new ModelWorld(true)
    for (let i = 0; i < 200; i++) for (const kind of ['U', 'I']) world.put(`${i}-${kind}`, ROW)
    world.progress(1000, Date.now())
    const { ask } = world
    world.ask = async (slot, request) => {
      for (const restarted of [0, 1]) {
        world.board.beginSlotIncarnation(restarted, 1)
        world.board.resetProgress(restarted)
      }
      world.ask = ask
      return await ask.call(world, slot, request)
    }
    return world
  }

  const ROW = [1, 1, 1, 1]
  const keys = Array.from({ length: 200 }, (_, i) => `${i}-U`)

  it('answers without an age that it had before', async () => {
    const world = interruptedWorld()
    const answers = await world.reader().rows('ALS_MODEL', keys)
    const asked = answers.filter((answer) => answer.ok && answer.envelope.ageMs === -1)
    expect(asked.length).toBeGreaterThan(0)
    expect(world.asked.length).toBeGreaterThan(0)
    world.close()
  })

  it('answers no prediction with a bound that it had reached before', async () => {
    const world = interruptedWorld()
    const pairs = keys.slice(0, 50).map((key) => [key, key.replace('U', 'I')] as const)
    const consistency = { level: 'bounded', maxAgeMs: 60_000 } as const
    const options = { consistency, deadlineMs: 200 }
    const answers = await world.reader().predictDeferred('ALS_MODEL', deferred(pairs), options)
    const codes = new Set(answers.map((answer) => (answer.ok ? 'answered' : answer.error.code)))
    expect([...codes]).not.toContain('answered')
    world.close()
  })
})

describe('a slot that runs again, whose new tables this thread does not know yet', () => {
  const BOUNDED = { level: 'bounded', maxAgeMs: 60_000 } as const
  const AT_LEAST = { level: 'at-least', partition: 0, offset: 0 } as const

  /** A world in which every slot is in its second attempt; this thread has read those of the first. */
  function restartedWorld(): ModelWorld {
    const world = new ModelWorld()
    for (const slot of [0, 1]) {
      world.board.beginSlotIncarnation(slot, 1)
      world.catalog.setSlotTables({ slot, incarnation: 1, opened: 0 })
    }
    for (const kind of ['U', 'I']) world.put(`1-${kind}`, [1, 1, 1, 1])
    for (const slot of [0, 1]) {
      world.board.beginSlotIncarnation(slot, 2)
      world.board.countTableOpened(slot)
    }
    world.progress(10, Date.now())
    return world
  }

  const learn = (world: ModelWorld, incarnation: number, opened: number): void => {
    for (const slot of [0, 1]) world.catalog.setSlotTables({ slot, incarnation, opened })
  }

  it.each([
    ['bounded', BOUNDED],
    ['at-least', AT_LEAST],
  ])('has not reached a bound of the level %s', async (_, consistency) => {
    const world = restartedWorld()
    const reader = world.reader()
    const read = (options: QueryOptions) => reader.rows('ALS_MODEL', ['1-U'], options)
    for (const opened of [0, 1]) {
      expect(reader.open('ALS_MODEL', 0, consistency)).toBeUndefined()
      const [late] = await read({ consistency, deadlineMs: 0 })
      expect(late).toMatchObject({ ok: false, error: { code: 'NOT_UP_TO_BOUND' } })
      learn(world, opened + 1, opened)
    }
    const [answer] = await read({ consistency, deadlineMs: 0 })
    expect(answer).toMatchObject({ ok: true })
    expect(reader.open('ALS_MODEL', 0, consistency)).toBeDefined()
    world.close()
  })

  it('gives live answers without an age', async () => {
    const world = restartedWorld()
    const reader = world.reader()
    const ageMs = async () => {
      const [row] = await reader.rows('ALS_MODEL', ['1-U'])
      return row?.ok === true ? row.envelope.ageMs : undefined
    }
    expect(await ageMs()).toBe(-1)
    expect(reader.open('ALS_MODEL', 0, { level: 'live' })!.ageMs).toBe(-1)
    learn(world, 2, 0)
    expect(await ageMs()).toBe(-1)
    learn(world, 2, 1)
    expect(await ageMs()).toBeGreaterThanOrEqual(0)
    expect(reader.open('ALS_MODEL', 0, { level: 'live' })!.ageMs).toBeGreaterThanOrEqual(0)
    world.close()
  })

  it('says that a key without a row may be restored, also at the checkpoint level', async () => {
    const world = restartedWorld()
    world.completeCheckpoint()
    for (const slot of [0, 1]) {
      world.catalog.drop({ operatorUid: 'model', state: 'users', version: 1, slot })
    }
    const codes = async (consistency: Consistency) => {
      const [row] = await world.reader().rows('ALS_MODEL', ['7-U'], { consistency })
      return row?.ok === false && row.error.code
    }
    expect(await codes({ level: 'live' })).toBe('RESTORING')
    expect(await codes({ level: 'checkpoint' })).toBe('RESTORING')
    learn(world, 2, 1)
    expect(await codes({ level: 'live' })).toBe('UNKNOWN_KEY')
    world.close()
  })
})

describe('a slot that runs and has opened a table that this thread does not know yet', () => {
  it('may have the version that a request names: it is on its way, not unknown', async () => {
    const world = new ModelWorld()
    const ask = () =>
      world
        .reader()
        .predict('ALS_MODEL', '1-U', '1-I', { version: 7 })
        .then(
          () => 'answered',
          (error: unknown) => String(error),
        )
    expect(await ask()).toContain('version 7 of "ALS_MODEL" is not loaded')
    world.board.countTableOpened(1)
    expect(await ask()).toContain('a slot is just opening its tables; ask again later')
    world.catalog.setSlotTables({ slot: 1, incarnation: 0, opened: 1 })
    expect(await ask()).toMatch(/version 7 of "ALS_MODEL" is not loaded$/)
    world.close()
  })
})

describe('a name that is no state', () => {
  it('is answered with the names that exist, and the nearest', async () => {
    const world = new ModelWorld()
    world.put('1-U', [1, 1, 1, 1])
    const reader = world.reader()
    const message = await reader.predict('ALS_MODLE', '1-U', '1-I').then(
      () => '',
      (error: unknown) => String(error),
    )
    expect(message).toContain('known states: ALS_MODEL')
    expect(message).toContain('did you mean "ALS_MODEL"?')
    await expect(reader.scan('OTHER', { from: '', to: 'z', limit: 1 })).rejects.toThrow(
      'known states',
    )
    await expect(reader.values('OTHER', ['a'])).rejects.toThrow('known states')
    world.close()
  })
})

describe('a sparse vector with a value that is not finite', () => {
  it('is refused', async () => {
    const world = new ModelWorld()
    world.put('1-U', [1, 1, 1, 1])
    const vector = { ids: Uint32Array.of(0, 1), values: Float32Array.of(1, Number.NaN) }
    const answer = await world.reader().sparseDot('ALS_MODEL', vector)
    expect(answer).toMatchObject({ ok: false, error: { code: 'INVALID_ARGUMENT' } })
    world.close()
  })
})
