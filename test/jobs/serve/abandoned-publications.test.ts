import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AbandonedPublications } from '../../../src/jobs/serve/abandoned-publications.ts'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'
import { Publication } from '../../../src/models/topic/publication.ts'
import { publishedVersions } from '../../../src/models/versions/model-versions.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { GONE, MODEL, ModelFolder } from '../../models/retention/fixture.ts'
import { until } from '../../run/until.ts'

/** What a job sees of a topic whose version 2 the given process publishes, after version 1. */
async function watched(process: string, registered: readonly number[] = [1]) {
  const model = new ModelFolder()
  await model.publish(1)
  await model.leave(2, { version: 2, publisher: { process, atMs: Date.now() } })
  const markers = async (): Promise<readonly ModelVersionMarker[]> =>
    (await publishedVersions(model.topics, MODEL)).all.map(({ marker }) => marker)
  const unfinished = (await markers()).filter(({ version }) => version === 2)
  const clock = new ManualClock()
  const warnings: string[] = []
  const applied = Promise.withResolvers<void>()
  const asked: (readonly number[])[] = []
  const seen = { unfinished }
  const watch = new AbandonedPublications({
    versions: {
      get unfinished() {
        return seen.unfinished
      },
      whenApplied: (ends) => {
        asked.push(ends)
        return applied.promise
      },
    },
    ...{ place: { logDirectory: join(model.folder, 'log') }, topic: MODEL, clock },
    registered: async () => new Set(registered),
    onWarning: (warning) => warnings.push(warning),
  })
  watch.start()
  return { model, markers, clock, watch, warnings, applied, asked, seen }
}

/** Waits until the look that goes on has ended, and for the whole of the next one. */
async function lookAgain(clock: ManualClock): Promise<void> {
  await until('the next look is due', () => clock.pending > 0)
  clock.advance(10_000)
  await until('the job has looked', () => clock.pending > 0)
}

describe('a publication whose process has ended', () => {
  it('is abandoned in the topic, once, when the job has read all that the process wrote', async () => {
    const { model, markers, clock, watch, warnings, applied, asked } = await watched(GONE)
    await using _ = model
    expect(watch.list()).toEqual([{ number: 2, state: 'incomplete' }])
    clock.advance(2000)
    await until('the job asks how far it is', () => asked.length > 0)
    expect(asked).toEqual([(await model.topics.bounds(MODEL)).map(({ end }) => end)])
    expect((await markers()).at(-1)).toMatchObject({ event: 'announce' })
    applied.resolve()
    await until('the job has said so', () => warnings.length > 0)
    expect((await markers()).at(-1)).toMatchObject({
      ...{ event: 'retire', version: 2, incomplete: true, rowsLeft: true },
    })
    expect(warnings).toEqual([expect.stringContaining('weir model drop 2 --model als-model')])
    // The job has not read its own marker yet.
    await lookAgain(clock)
    expect(asked).toHaveLength(1)
  })

  it('is not abandoned if its end comes while the job reads on', async () => {
    const { model, markers, clock, warnings, applied, asked, seen } = await watched(GONE)
    await using _ = model
    clock.advance(2000)
    await until('the job asks how far it is', () => asked.length > 0)
    seen.unfinished = []
    applied.resolve()
    await lookAgain(clock)
    expect((await markers()).at(-1)).toMatchObject({ event: 'announce' })
    expect(warnings).toEqual([])
  })
})

it('a publication that goes on is none of a job', async () => {
  using publication = new Publication()
  const { model, clock, watch, asked } = await watched(publication.name)
  await using _ = model
  expect(watch.list()).toEqual([{ number: 2, state: 'publishing' }])
  await lookAgain(clock)
  expect(asked).toEqual([])
})

it('a version of the registry whose rows were being replaced is left to a person', async () => {
  const { model, markers, clock, warnings, applied, asked } = await watched(GONE, [1, 2])
  await using _ = model
  applied.resolve()
  clock.advance(2000)
  await until('the job has looked', () => asked.length > 0 && clock.pending > 0)
  expect((await markers()).at(-1)).toMatchObject({ event: 'announce' })
  expect(warnings).toEqual([])
})
