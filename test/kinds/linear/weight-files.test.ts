import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { BIAS_FEATURE } from '../../../src/core/feature.ts'
import { publishWeightFiles, readWeightFiles } from '../../../src/kinds/linear/weight-files.ts'
import { decodeFactors } from '../../../src/models/als/row.ts'
import { decodeMarker } from '../../../src/models/registry/version-marker.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

function weightsFile(text: string): string {
  const file = join(temporaryFolder(), 'weights.txt')
  writeFileSync(file, text)
  return file
}

it('text weights in any order and form become the blocks of a version', async () => {
  const one = weightsFile('9,4\nbias,0.5\n\n1,1\n1,2\n')
  const other = weightsFile('0,0:-1;3:8\n')
  const files = await readWeightFiles([one, other], { range: 4 })
  expect(files).toMatchObject({ range: 4, features: 10, weights: 6, hasIntercept: true })
  await using topics = new LogTopics(join(temporaryFolder(), 'log'))
  const options = { log: topics, topic: 'm', clock: systemClock, partitions: 1 }
  expect(
    await publishWeightFiles(files, { ...options, hyperparameters: { positiveLabel: 7 } }),
  ).toBe(1)
  const rows: Record<string, number[]> = {}
  const markers: unknown[] = []
  await scanTopic(topics, 'm', (record) => {
    const key = Buffer.from(record.key()!).toString()
    if (key.startsWith('!')) markers.push(decodeMarker(record.value()!))
    else rows[key] = [...decodeFactors(record.value()!)]
    return true
  })
  expect(rows).toEqual({
    '0-W@1': [-1, 2, 0, 8],
    '2-W@1': [0, 4, 0, 0],
    [`${Math.floor(BIAS_FEATURE / 4)}-W@1`]: [0, 0, 0, 0.5],
  })
  expect(markers.at(-1)).toMatchObject({
    ...{ event: 'ready', name: 'SVM_MODEL', dimension: 4, users: 0, items: 3, biased: true },
    hyperparameters: { features: 10, positiveLabel: 7 },
  })
})

it('a line that is no weight is refused with its file and number, and a file without weights', async () => {
  const wrong = weightsFile('1,1\n2;3\n')
  await expect(readWeightFiles([wrong])).rejects.toMatchObject({
    code: 'UNPARSABLE_RECORD',
    message: expect.stringMatching(/weights\.txt: line 2: "2;3" is not a weight/),
  })
  await expect(readWeightFiles([weightsFile('\n')])).rejects.toMatchObject({
    code: 'EMPTY_DATASET',
  })
})
