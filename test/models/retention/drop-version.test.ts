import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { dropVersion } from '../../../src/models/retention/drop-version.ts'
import { machineProcesses, Publication } from '../../../src/models/topic/publication.ts'
import { GONE, MODEL, ModelFolder } from './fixture.ts'

async function drop(model: ModelFolder, word: string, isGone = false) {
  const { topics, registry, administration } = model
  const versions = await administration.all()
  return await dropVersion({
    ...{ topics, registry, model: MODEL, word, isGone, versions },
    clock: systemClock,
  })
}

/** A topic with version 1 live, and version 2 as the given process has left it. */
async function modelWith(process: string): Promise<ModelFolder> {
  const model = new ModelFolder()
  await model.publish(1)
  await model.leave(3, { version: 2, publisher: { process, atMs: Date.now() } })
  return model
}

describe('a drop', () => {
  it('deletes what a killed publisher has left', async () => {
    await using model = await modelWith(GONE)
    expect(await drop(model, '2')).toEqual({ number: 2, rows: 3, wasDropped: false })
    expect(await model.rows()).toEqual(['1-U@1'])
    expect((await model.administration.all()).unfinished).toEqual([])
    await expect(drop(model, '2')).rejects.toMatchObject({ code: 'UNKNOWN_VERSION' })
  })

  it('retires a candidate, and says that one that is gone is gone', async () => {
    await using model = await modelWith(GONE)
    expect(await model.publish(2)).toBe(3)
    expect(await drop(model, 'latest')).toEqual({ number: 3, rows: 2, wasDropped: false })
    expect((await model.registry.read()).versions.get(MODEL)?.get(3)?.state).toBe('retired')
    expect(await drop(model, '3')).toEqual({ number: 3, rows: 0, wasDropped: true })
  })

  it('refuses the live version, and one that does not exist', async () => {
    await using model = await modelWith(GONE)
    await expect(drop(model, '1')).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
    await expect(drop(model, 'live')).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
    await expect(drop(model, '7')).rejects.toMatchObject({ code: 'UNKNOWN_VERSION' })
    expect(await model.rows()).toContain('1-U@1')
  })

  it('refuses a version whose publisher runs, whatever is said of it', async () => {
    using publication = new Publication()
    await using model = await modelWith(publication.name)
    for (const isGone of [false, true]) {
      await expect(drop(model, '2', isGone)).rejects.toMatchObject({
        code: 'ILLEGAL_STATE',
        message: expect.stringContaining(`published by process ${process.pid}`),
      })
    }
  })

  it('of a version of another machine needs the word that its publisher has ended', async () => {
    const there = `there${machineProcesses.machine}`
    await using model = await modelWith(`${there}/12-1/1`)
    await expect(drop(model, '2')).rejects.toMatchObject({
      message: expect.stringMatching(/process 12 on there.*--publisher-gone/),
    })
    expect(await drop(model, '2', true)).toMatchObject({ number: 2, rows: 3 })
  })
})
