import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSparkModel } from '../../../src/models/spark/model-folder.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

const FOLDERS = join(import.meta.dirname, 'folders')

/** A folder with such metadata. */
function folderOf(metadata: string): string {
  const place = temporaryFolder()
  mkdirSync(join(place, 'metadata'))
  writeFileSync(join(place, 'metadata/part-00000'), metadata)
  return place
}

it('the metadata say the kind of a model, and its parameters before their defaults', async () => {
  expect(await openSparkModel(join(FOLDERS, 'als'))).toMatchObject({
    ...{ kind: 'als', className: 'ALSModel', parameters: { blockSize: 4096, userCol: 'user' } },
  })
  expect(await openSparkModel(join(FOLDERS, 'svc'))).toMatchObject({ kind: 'svc' })
  expect(await openSparkModel(join(FOLDERS, 'logistic'))).toMatchObject({
    ...{ kind: 'logistic', parameters: { threshold: 0.3, maxIter: 20, tol: 1e-6 } },
  })
})

it('a folder that is no model is refused with what to name', async () => {
  const place = temporaryFolder()
  cpSync(join(FOLDERS, 'als/userFactors'), join(place, 'userFactors'), { recursive: true })
  await expect(openSparkModel(place)).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
    message: expect.stringMatching(/no folder "metadata"; name the folder that model\.save/),
  })
})

it('a model of another class is refused with the classes that are read', async () => {
  const pipeline = folderOf('{"class":"org.apache.spark.ml.PipelineModel","paramMap":{}}\n')
  await expect(openSparkModel(pipeline)).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringMatching(/PipelineModel, and only ALSModel.* below .*stages$/),
  })
})

it.each(['', '{"class":', '{"uid":"ALS_1"}'])(
  'metadata %j are refused as damaged',
  async (text) => {
    await expect(openSparkModel(folderOf(text))).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
  },
)
