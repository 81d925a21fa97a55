import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { BIAS_FEATURE } from '../../../src/core/feature.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { decodeFactors } from '../../../src/models/als/row.ts'
import { decodeMarker } from '../../../src/models/registry/version-marker.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { recordedIo } from '../recorded-io.ts'

const FOLDERS = join(import.meta.dirname, '../../models/spark/folders')

async function load(words: readonly string[], data = temporaryFolder()) {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(['model', 'load', ...words, '--data-dir', data], io)
  return { code, out: out.join('\n'), err: err.join('\n'), data }
}

/** The rows of a topic by key, without zeros at their end, and the marker of the version. */
async function published(data: string, topic: string) {
  await using topics = new LogTopics(dataDirectory(data).log)
  const rows: Record<string, readonly number[]> = {}
  const markers: unknown[] = []
  await scanTopic(topics, topic, (record) => {
    const key = Buffer.from(record.key()!).toString()
    if (key.startsWith('!')) markers.push(decodeMarker(record.value()!))
    else rows[key] = [...decodeFactors(record.value()!)]
    return true
  })
  return { rows, marker: markers.at(-1) }
}

it('weir model load --from-spark publishes the rows of an ALSModel as a version', async () => {
  const { code, out, err, data } = await load(['--from-spark', join(FOLDERS, 'als')])
  expect(code, err).toBe(0)
  expect(out).toMatch(/^loaded 7 users and 5 items of 3 floats as version 1 into topic als-model/)
  const { rows, marker } = await published(data, 'als-model')
  expect(Object.keys(rows).filter((key) => /^\d+-[UI]@1$/.test(key))).toHaveLength(12)
  expect(rows['14-I@1']).toEqual([1.8979175090789795, 0.1074836328625679, -3.2215163707733154])
  expect(marker).toMatchObject({ event: 'ready', users: 7, items: 5, dimension: 3, biased: false })
})

it('weir model load --from-spark publishes the weights of a classifier, and says how its features are numbered', async () => {
  const place = join(FOLDERS, 'logistic')
  const { code, out, err, data } = await load(['--from-spark', place, '--first-feature', '1'])
  expect(code, err).toBe(0)
  expect(out).toMatch(/^loaded the LogisticRegressionModel of 7 features as version 1/)
  expect(err).toMatch(/features 1 to 6 are Spark's 0 to 5$/m)
  expect(err).toMatch(/the threshold 0\.3 of the model is no part of a version/)
  const { rows, marker } = await published(data, 'svm-model')
  // Spark printed 2.343687324452246 for its index 0, and the intercept.
  expect(rows['0-W@1']!.slice(0, 3)).toEqual(
    [0, 2.343687324452246, -2.343687324452246].map(Math.fround),
  )
  const intercept = rows[`${Math.floor(BIAS_FEATURE / 1024)}-W@1`]!
  expect(intercept[BIAS_FEATURE % 1024]).toBe(Math.fround(1.5289289144817613))
  expect(marker).toMatchObject({
    hyperparameters: { features: 7, loss: 'logistic', positiveLabel: 1, negativeLabel: 0 },
  })
})

it('weir model load --from-spark publishes a model of several classes, which a version names', async () => {
  const { code, out, err, data } = await load(['--from-spark', join(FOLDERS, 'classes')])
  expect(code, err).toBe(0)
  expect(out).toMatch(/LogisticRegressionModel of 6 features and 3 classes as version 1/)
  expect(err).toMatch(/features 0 to 5 .* 0 to 5; .* LIBSVM text, give --first-feature 1/)
  const { marker } = await published(data, 'svm-model')
  expect(marker).toMatchObject({
    hyperparameters: { classes: '0,1,2', classFeatures: 6, classStride: 7 },
  })
})

it('weir model load --from-spark refuses what counts for nothing, and a folder that is no model', async () => {
  const als = join(FOLDERS, 'als')
  expect((await load(['--from-spark', als, als])).err).toMatch(/either PLACE or --from-spark/)
  expect((await load(['--from-spark', als, '--first-feature', '1'])).err).toMatch(
    /for linear models/,
  )
  expect((await load(['--from-spark', als, '--kind', 'linear'])).err).toMatch(/--kind/)
  const { code, err } = await load(['--from-spark', join(als, 'userFactors')])
  expect(code).toBe(1)
  expect(err).toMatch(/FILE_NOT_FOUND: .*userFactors is no model folder of Spark/)
})
